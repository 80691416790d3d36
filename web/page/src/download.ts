// download.ts: saves bytes as a file, by the browser's own means.

import { el } from './dom';

export function download(blob: Blob, name: string) {
  const address = URL.createObjectURL(blob);
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// Letters that every file system takes.
export const fileName = (...parts: string[]) => parts.filter(Boolean).join(' ').replace(/[^\p{L}\p{N} ._-]+/gu, '').trim().replace(/\s+/g, '-').slice(0, 100) || 'pelt';
