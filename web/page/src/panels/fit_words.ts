// fit_words.ts: the options of `pelt fit` as a form, and the form as words of the command line. Who uses what is said here
// only to leave out of the form what cannot matter; what makes sense the library knows, and says.

export interface Option {
  flag: string;
  text: string;
  kind: 'choice' | 'number' | 'switch' | 'names';
  choices?: string[];
  blends?: string[]; // used by these, or
  correctives?: string[]; // by these; by neither list: always
}

const ANY_CORRECTIVE = ['psd', 'wpsd', 'eigen', 'kernel'];

export const METHODS: Record<string, { text: string; blend: string; corrective: string }> = {
  kernel: { text: 'few displacements per vertex, learned; the best on unseen poses', blend: 'file', corrective: 'kernel' },
  eigen: { text: 'EigenSkin: few displacements per joint', blend: 'file', corrective: 'eigen' },
  joints: { text: 'driven joints, no displacements; for engines that only blend', blend: 'joints', corrective: 'none' },
  wpsd: { text: 'weighted pose space deformation', blend: 'file', corrective: 'wpsd' },
  psd: { text: 'pose space deformation', blend: 'file', corrective: 'psd' },
  ssd: { text: 'the plain blend, to compare with', blend: 'file', corrective: 'none' },
};
export const BLENDS = ['file', 'distance', 'fit', 'joints'];
export const CORRECTIVES = ['none', ...ANY_CORRECTIVE];

export const OPTIONS: Option[] = [
  { flag: 'influences', text: 'most joints per vertex', kind: 'number' },
  { flag: 'rest', text: 'rest positions', kind: 'choice', choices: ['keep', 'refit'], blends: ['fit', 'joints'] },
  { flag: 'smooth', text: 'what differences of the error across the mesh cost', kind: 'number', blends: ['fit', 'joints'] },
  { flag: 'drop-joints', text: 'joints that no vertex may follow', kind: 'names', blends: ['fit', 'joints'] },
  { flag: 'prune', text: 'drops weights below this', kind: 'number', blends: ['fit'] },
  { flag: 'lock-joints', text: 'joints that keep the file’s weights', kind: 'names', blends: ['fit'] },
  { flag: 'influence-choice', text: 'how a vertex chooses its joints', kind: 'choice', choices: ['greedy', 'rigidity'], blends: ['joints'] },
  { flag: 'ridge', text: 'what a squared weight costs', kind: 'number', blends: ['joints'] },
  { flag: 'normal-scale', text: 'how much normals count', kind: 'number', blends: ['joints'] },
  { flag: 'per-vertex', text: 'displacements of a vertex', kind: 'number', correctives: ['kernel', 'eigen'] },
  { flag: 'family', text: 'what coefficients are made of', kind: 'choice', choices: ['kernel', 'arc', 'features'], correctives: ['kernel'] },
  { flag: 'per-joint', text: 'displacements of a joint', kind: 'number', correctives: ['eigen'] },
  { flag: 'sweeps-only', text: 'only examples that move one joint alone', kind: 'switch', correctives: ['eigen'] },
  { flag: 'poses', text: 'keep the most important poses', kind: 'number', correctives: ['psd', 'wpsd'] },
  { flag: 'rbf', text: 'function of the pose distance', kind: 'choice', choices: ['mixed', 'gaussian', 'exp'], correctives: ['psd', 'wpsd'] },
  { flag: 'no-norm', text: 'functions are not divided by their sum', kind: 'switch', correctives: ['psd', 'wpsd'] },
  { flag: 'principal-joints', text: 'most joints in a pose distance', kind: 'number', correctives: ['wpsd'] },
  { flag: 'distance-weights', text: 'by what joints count', kind: 'choice', choices: ['driving', 'blend'], correctives: ['wpsd'] },
  { flag: 'displacements', text: 'bits of their numbers', kind: 'choice', choices: ['16', '32'], correctives: ANY_CORRECTIVE },
  { flag: 'plain-normals', text: 'normals as the blend turns them', kind: 'switch', correctives: ANY_CORRECTIVE },
  { flag: 'every', text: 'train on every N-th frame only', kind: 'number' },
  { flag: 'mirror', text: 'train on mirror images too', kind: 'choice', choices: ['x', 'y', 'z'] },
  { flag: 'holdout', text: 'share of the examples left out to measure on', kind: 'number' },
];

export interface Form {
  train: string[];
  method: string;
  blend: string; // '': the method's
  corrective: string;
  values: Record<string, string>; // by flag; '': the default; switches are 'on'
  more: string; // further words, as typed
}

export function isUsed(option: Option, form: Form): boolean {
  if (!option.blends && !option.correctives) return true;
  const blend = form.blend || METHODS[form.method]?.blend;
  const corrective = form.corrective || METHODS[form.method]?.corrective;
  return !!option.blends?.includes(blend) || !!option.correctives?.includes(corrective);
}

/** Words as a shell would split them: by spaces, but for those in quotes. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

export function wordsOf(form: Form): string[] {
  const words = form.train.length ? ['--train', form.train.join(',')] : [];
  if (form.method) words.push('--method', form.method);
  if (form.blend) words.push('--blend', form.blend);
  if (form.corrective) words.push('--corrective', form.corrective);
  for (const option of OPTIONS) {
    const value = form.values[option.flag]?.trim();
    if (!value || !isUsed(option, form)) continue;
    words.push(`--${option.flag}`);
    if (option.kind !== 'switch') words.push(value);
  }
  return [...words, ...splitWords(form.more)];
}

const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

export const commandLine = (words: string[]): string => words.map(quoted).join(' ');
