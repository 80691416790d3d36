// gather.ts: the files of a drop, also those in folders, with their paths.

const paths = new WeakMap<File, string>();

const pathOf = (file: File) => paths.get(file) ?? (file.webkitRelativePath || file.name);

// Paths from where the scene is: whoever drops the folder around it means what is inside.
export function pathsOf(files: File[]): string[] {
  const all = files.map(pathOf);
  const scene = all.find((path) => /\.(glb|gltf)$/i.test(path)) ?? '';
  const folder = scene.slice(0, scene.lastIndexOf('/') + 1);
  return all.map((path) => (path.startsWith(folder) ? path.slice(folder.length) : path));
}

async function read(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((done, failed) => { (entry as FileSystemFileEntry).file(done, failed); });
    paths.set(file, entry.fullPath.replace(/^\//, ''));
    return [file];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) { // some browsers give a hundred at a time
    const some = await new Promise<FileSystemEntry[]>((done, failed) => { reader.readEntries(done, failed); });
    if (!some.length) break;
    entries.push(...some);
  }
  const files: File[] = [];
  for (const each of entries) if (!each.name.startsWith('.')) files.push(...await read(each));
  return files;
}

// Must be called while the drop is handled, because its entries are gone afterwards.
export function gather(transfer: DataTransfer | null): Promise<File[]> {
  const entries = [...(transfer?.items ?? [])].map((item) => item.webkitGetAsEntry?.() ?? null);
  const files = [...(transfer?.files ?? [])];
  if (!entries.some((entry) => entry?.isDirectory)) return Promise.resolve(files);
  return Promise.all(entries.map((entry) => (entry ? read(entry) : []))).then((lists) => lists.flat());
}
