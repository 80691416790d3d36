// theme.ts: dark or light, following the system until the user chooses.

export type Theme = 'dark' | 'light';

const KEPT = 'pelt-theme';
const system = matchMedia('(prefers-color-scheme: light)');
const heard = new Set<() => void>();

export const theme = (): Theme => (localStorage.getItem(KEPT) as Theme | null) ?? (system.matches ? 'light' : 'dark');

function apply() {
  document.documentElement.dataset.theme = theme();
  for (const call of heard) call();
}

export function switchTheme() {
  const next = theme() === 'dark' ? 'light' : 'dark';
  if (next === (system.matches ? 'light' : 'dark')) localStorage.removeItem(KEPT); // same as the system's: follow it again
  else localStorage.setItem(KEPT, next);
  apply();
}

export function onTheme(call: () => void) { heard.add(call); }

system.addEventListener('change', apply);
apply();
