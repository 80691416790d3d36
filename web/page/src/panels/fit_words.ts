// fit_words.ts: the options of `pelt fit` as a form, and the form as words of the command line. The lists of users here
// only hide options that cannot matter; validation is up to the library.

export interface Option {
  flag: string;
  text: string;
  kind: 'choice' | 'number' | 'switch' | 'names';
  choices?: string[];
  blends?: string[]; // used by these, or
  correctives?: string[]; // by these; by neither list: always
}

const ANY_CORRECTIVE = ['psd', 'wpsd', 'eigen', 'kernel'];

// '' leaves the choice to the program.
export const METHODS: Record<string, { text: string; blend: string; corrective: string }> = {
  kernel: { text: 'a few learned displacements per vertex; the most accurate in new poses', blend: 'file', corrective: 'kernel' },
  eigen: { text: 'EigenSkin: a few displacements per joint', blend: 'file', corrective: 'eigen' },
  joints: { text: 'driven joints, no displacements; for engines that only blend', blend: 'joints', corrective: 'none' },
  wpsd: { text: 'weighted pose space deformation', blend: 'file', corrective: 'wpsd' },
  psd: { text: 'pose space deformation', blend: 'file', corrective: 'psd' },
  ssd: { text: 'the plain blend, to compare with', blend: 'file', corrective: 'none' },
  '': { text: 'tries every method on examples held out in turn; takes a while', blend: '', corrective: '' },
};
export const BLENDS = ['file', 'distance', 'fit', 'joints'];
export const CORRECTIVES = ['none', ...ANY_CORRECTIVE];

export const OPTIONS: Option[] = [
  { flag: 'influences', text: 'maximum joints per vertex', kind: 'number' },
  { flag: 'rest', text: 'rest positions', kind: 'choice', choices: ['keep', 'refit'], blends: ['fit', 'joints'] },
  { flag: 'smooth', text: 'penalty on error differences across the mesh', kind: 'number', blends: ['fit', 'joints'] },
  { flag: 'drop-joints', text: 'joints that no vertex may follow', kind: 'names', blends: ['fit', 'joints'] },
  { flag: 'prune', text: 'drop weights below this', kind: 'number', blends: ['fit'] },
  { flag: 'lock-joints', text: 'joints that keep the file’s weights', kind: 'names', blends: ['fit'] },
  { flag: 'influence-choice', text: 'how a vertex chooses its joints', kind: 'choice', choices: ['greedy', 'rigidity'], blends: ['joints'] },
  { flag: 'ridge', text: 'penalty on squared weights', kind: 'number', blends: ['joints'] },
  { flag: 'normal-scale', text: 'weight of normals', kind: 'number', blends: ['joints'] },
  { flag: 'per-vertex', text: 'displacements per vertex', kind: 'number', correctives: ['kernel', 'eigen'] },
  { flag: 'family', text: 'what computes the coefficients', kind: 'choice', choices: ['kernel', 'arc', 'features'], correctives: ['kernel'] },
  { flag: 'per-joint', text: 'displacements per joint', kind: 'number', correctives: ['eigen'] },
  { flag: 'sweeps-only', text: 'use only examples that move a single joint', kind: 'switch', correctives: ['eigen'] },
  { flag: 'poses', text: 'keep the most important poses', kind: 'number', correctives: ['psd', 'wpsd'] },
  { flag: 'rbf', text: 'function of the pose distance', kind: 'choice', choices: ['mixed', 'gaussian', 'exp'], correctives: ['psd', 'wpsd'] },
  { flag: 'no-norm', text: 'do not divide the functions by their sum', kind: 'switch', correctives: ['psd', 'wpsd'] },
  { flag: 'principal-joints', text: 'maximum joints in a pose distance', kind: 'number', correctives: ['wpsd'] },
  { flag: 'distance-weights', text: 'how joints are weighted', kind: 'choice', choices: ['driving', 'blend'], correctives: ['wpsd'] },
  { flag: 'displacements', text: 'bits per stored number', kind: 'choice', choices: ['16', '32'], correctives: ANY_CORRECTIVE },
  { flag: 'normals', text: 'where normals come from', kind: 'choice', choices: ['auto', 'surface', 'rows', 'blend'] },
  { flag: 'every', text: 'train on every N-th frame only', kind: 'number' },
  { flag: 'mirror', text: 'train on mirror images too', kind: 'choice', choices: ['x', 'y', 'z'] },
  { flag: 'holdout', text: 'fraction of the examples to hold out for measuring', kind: 'number' },
];

export interface Form {
  train: string[];
  method: string;
  blend: string; // '': the method's
  corrective: string;
  values: Record<string, string>; // by flag; '': the default; switches are 'on'
  budget?: string; // of the choice; '': none
  fix?: boolean; // the character's caches are mended
  more: string; // further words, as typed
}

export function isUsed(option: Option, form: Form): boolean {
  if (!form.method && option.flag === 'holdout') return false; // choosing holds examples out in turn
  if (!option.blends && !option.correctives) return true;
  const blend = form.blend || METHODS[form.method]?.blend;
  const corrective = form.corrective || METHODS[form.method]?.corrective;
  return !!option.blends?.includes(blend) || !!option.correctives?.includes(corrective);
}

/** Splits text into words like a shell: at spaces, except within quotes. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

export function wordsOf(form: Form): string[] {
  const words = form.train.length ? ['--train', form.train.join(',')] : [];
  if (form.method) words.push('--method', form.method);
  else if (form.budget?.trim()) words.push('--budget', form.budget.trim());
  if (form.fix) words.push('--fix');
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
