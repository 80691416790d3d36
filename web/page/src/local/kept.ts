// kept.ts: finished skins, kept in this browser until they are discarded, so that a reload or a tab that was put away loses none.
// Where the browser keeps nothing (private windows) the page works without.

export interface Kept {
  number: number;
  file: string; // of the character
  name: string;
  when: number;
  bytes: Uint8Array;
}

const STORE = 'skins';

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((good, bad) => {
    request.addEventListener('success', () => good(request.result));
    request.addEventListener('error', () => bad(request.error));
  });
}

let opening: Promise<IDBDatabase> | null = null;

function database(): Promise<IDBDatabase> {
  opening ??= new Promise((good, bad) => {
    const request = indexedDB.open('pelt', 1);
    request.addEventListener('upgradeneeded', () => request.result.createObjectStore(STORE, { keyPath: 'number', autoIncrement: true }));
    request.addEventListener('success', () => good(request.result));
    request.addEventListener('error', () => bad(request.error));
    request.addEventListener('blocked', () => bad(new Error('blocked')));
  });
  return opening;
}

const store = async (mode: IDBTransactionMode) => (await database()).transaction(STORE, mode).objectStore(STORE);

// False if the browser cannot keep it.
export async function keep(file: string, name: string, bytes: Uint8Array): Promise<boolean> {
  return store('readwrite').then((skins) => done(skins.add({ file, name, when: Date.now(), bytes }))).then(() => true, () => false);
}

export async function allKept(): Promise<Kept[]> {
  return store('readonly').then((skins) => done(skins.getAll() as IDBRequest<Kept[]>), () => []);
}

export async function discard(number: number): Promise<void> {
  await store('readwrite').then((skins) => done(skins.delete(number)), () => undefined);
}
