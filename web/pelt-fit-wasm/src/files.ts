// files.ts: files in memory, and files of the user's, as the system calls of WASI that the module makes. Names are paths without a leading slash.

const OK = 0, BAD_DESCRIPTOR = 8, EXISTS = 20, INVALID = 28, ABSENT = 44, NOT_EMPTY = 55;
const FOLDER = 3, FILE = 4, STREAM = 2; // kinds of files
const ROOT = 3; // the descriptor that is open when the module starts
const CREATE = 1, NEED_FOLDER = 2, EXCLUSIVE = 4, TRUNCATE = 8; // of path_open

// Bytes that grow by halves, so that a file written in pieces is not copied for each of them.
class Growing {
  private room: Uint8Array;
  constructor(private size = 0, bytes: Uint8Array = new Uint8Array(0)) { this.room = bytes; }
  get bytes() { return this.room.subarray(0, this.size); }
  write(at: number, piece: Uint8Array) {
    const end = at + piece.length;
    if (end > this.room.length) {
      const more = new Uint8Array(Math.max(end, Math.ceil(1.5 * this.room.length)));
      more.set(this.bytes);
      this.room = more;
    }
    this.room.set(piece, at);
    this.size = Math.max(this.size, end);
  }
  resize(size: number) {
    if (size > this.room.length) this.write(size, new Uint8Array(0));
    this.room.fill(0, size); // what is written beyond the end later has zeros before it
    this.size = size;
  }
}

// Bytes that somebody has: all of them, or piece by piece.
interface Stored {
  readonly size: number;
  read(at: number, length: number): Uint8Array;
}

class InMemory implements Stored {
  readonly growing: Growing;
  constructor(bytes?: Uint8Array) { this.growing = bytes ? new Growing(bytes.length, bytes) : new Growing(); }
  get size() { return this.growing.bytes.length; }
  read(at: number, length: number) { return this.growing.bytes.subarray(at, at + length); }
}

declare class FileReaderSync { readAsArrayBuffer(blob: Blob): ArrayBuffer }

// A file of the user's: it stays on the disk, and blocks of it are read when they are wanted.
class OnDisk implements Stored {
  private static readonly BLOCK = 4 << 20;
  private readonly reader = new FileReaderSync();
  private first = 0;
  private block = new Uint8Array(0);
  constructor(private readonly blob: Blob) {}
  get size() { return this.blob.size; }
  private get(at: number, length: number) { return new Uint8Array(this.reader.readAsArrayBuffer(this.blob.slice(at, at + length))); }
  read(at: number, length: number): Uint8Array {
    if (length >= OnDisk.BLOCK) return this.get(at, length);
    const end = Math.min(at + length, this.size);
    if (at < this.first || end > this.first + this.block.length) {
      this.block = this.get(at, OnDisk.BLOCK);
      this.first = at;
    }
    return this.block.subarray(at - this.first, Math.max(at, end) - this.first);
  }
}

export const canReadBlobs = () => typeof (globalThis as { FileReaderSync?: unknown }).FileReaderSync === 'function';

interface Open { path: string; folder: boolean; at: number }

export class Exit extends Error {}

export class Files {
  private readonly stored = new Map<string, Stored>();
  private readonly folders = new Set(['']);
  private readonly open = new Map<number, Open>([[ROOT, { path: '', folder: true, at: 0 }]]);
  private next = ROOT + 1;
  private memory!: WebAssembly.Memory;

  attach(memory: WebAssembly.Memory) { this.memory = memory; }

  put(path: string, bytes: Uint8Array | Blob) { this.stored.set(path, bytes instanceof Uint8Array ? new InMemory(bytes) : new OnDisk(bytes)); }
  get(path: string): Uint8Array | undefined {
    const file = this.stored.get(path);
    return file?.read(0, file.size);
  }
  private size(path: string): number { return this.stored.get(path)?.size ?? 0; }
  remove(path: string) { this.stored.delete(path); }
  names(): string[] { return [...this.stored.keys()]; }

  private get view() { return new DataView(this.memory.buffer); }
  private bytes(at: number, size: number) { return new Uint8Array(this.memory.buffer, at, size); }

  private path(descriptor: number, at: number, size: number): string {
    const base = this.open.get(descriptor)?.path ?? '';
    const parts: string[] = [];
    for (const part of `${base}/${new TextDecoder().decode(this.bytes(at, size))}`.split('/')) {
      if (part === '..') parts.pop();
      else if (part && part !== '.') parts.push(part);
    }
    return parts.join('/');
  }

  private isFolder(path: string) {
    return this.folders.has(path) || this.names().some((name) => name.startsWith(`${path}/`));
  }

  private inside(path: string): string[] {
    const start = path ? `${path}/` : '';
    const all = [...this.stored.keys(), ...this.folders].filter((name) => name !== path && name.startsWith(start));
    return [...new Set(all.map((name) => name.slice(start.length).split('/')[0]!))].sort();
  }

  // A number for a path that stays the same.
  private number(path: string): bigint {
    let hash = 1469598103934665603n;
    for (const byte of new TextEncoder().encode(path)) hash = ((hash ^ BigInt(byte)) * 1099511628211n) & 0xffffffffffffffffn;
    return hash;
  }

  private status(out: number, kind: number, size: number, path: string): number {
    this.bytes(out, 64).fill(0);
    this.view.setBigUint64(out + 8, this.number(path), true);
    this.view.setUint8(out + 16, kind);
    this.view.setBigUint64(out + 24, 1n, true);
    this.view.setBigUint64(out + 32, BigInt(size), true);
    return OK;
  }

  // Goes through a list of pieces of memory until one is not filled or emptied; *out is the sum.
  private pieces(list: number, count: number, out: number, each: (piece: Uint8Array) => number): number {
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const size = this.view.getUint32(list + 8 * i + 4, true);
      const done = each(this.bytes(this.view.getUint32(list + 8 * i, true), size));
      sum += done;
      if (done < size) break;
    }
    this.view.setUint32(out, sum, true);
    return OK;
  }

  private read(file: Open, at: number, list: number, count: number, out: number): number {
    const stored = this.stored.get(file.path);
    if (!stored) return BAD_DESCRIPTOR;
    return this.pieces(list, count, out, (piece) => {
      const part = stored.read(at, piece.length);
      piece.set(part);
      at += part.length;
      return part.length;
    });
  }

  private write(file: Open, at: number, list: number, count: number, out: number): number {
    const stored = this.stored.get(file.path);
    if (!(stored instanceof InMemory)) return BAD_DESCRIPTOR; // files of the user's are not written to
    return this.pieces(list, count, out, (piece) => {
      stored.growing.write(at, piece);
      at += piece.length;
      return piece.length;
    });
  }

  private seek(descriptor: number, by: bigint, from: number, out: number): number {
    const file = this.open.get(descriptor);
    if (!file || file.folder) return BAD_DESCRIPTOR;
    if (from > 2) return INVALID;
    const start = from === 0 ? 0 : from === 1 ? file.at : this.size(file.path);
    const to = start + Number(by);
    if (to < 0) return INVALID;
    file.at = to;
    this.view.setBigUint64(out, BigInt(to), true);
    return OK;
  }

  private openPath(base: number, at: number, size: number, flags: number, out: number): number {
    const path = this.path(base, at, size);
    const folder = !this.stored.has(path) && this.isFolder(path);
    if (!folder && !this.stored.has(path) && !(flags & CREATE)) return ABSENT;
    if (flags & NEED_FOLDER && !folder) return 54;
    if (flags & EXCLUSIVE && (folder || this.stored.has(path))) return EXISTS;
    if (!folder && (flags & TRUNCATE || !this.stored.has(path))) this.stored.set(path, new InMemory());
    this.open.set(this.next, { path, folder, at: 0 });
    this.view.setUint32(out, this.next++, true);
    return OK;
  }

  private list(descriptor: number, at: number, room: number, cookie: bigint, out: number): number {
    const folder = this.open.get(descriptor);
    if (!folder?.folder) return BAD_DESCRIPTOR;
    let used = 0;
    const names = this.inside(folder.path);
    for (let i = Number(cookie); i < names.length && used < room; i++) {
      const name = new TextEncoder().encode(names[i]!), entry = new Uint8Array(24 + name.length), view = new DataView(entry.buffer);
      const path = folder.path ? `${folder.path}/${names[i]}` : names[i]!;
      view.setBigUint64(0, BigInt(i + 1), true);
      view.setBigUint64(8, this.number(path), true);
      view.setUint32(16, name.length, true);
      view.setUint8(20, this.stored.has(path) ? FILE : FOLDER);
      entry.set(name, 24);
      const part = entry.subarray(0, room - used);
      this.bytes(at + used, part.length).set(part);
      used += part.length;
    }
    this.view.setUint32(out, used, true);
    return OK;
  }

  private rename(from: string, to: string): number {
    const file = this.stored.get(from);
    if (!file) return ABSENT;
    this.stored.delete(from);
    this.stored.set(to, file);
    for (const each of this.open.values()) if (each.path === from) each.path = to;
    return OK;
  }

  // Another descriptor of the same file; -1: there is no such one.
  duplicate(descriptor: number): number {
    const file = this.open.get(descriptor);
    if (!file) return -1;
    this.open.set(this.next, { ...file });
    return this.next++;
  }

  // What the module imports as "wasi_snapshot_preview1".
  calls(): Record<string, (...words: never[]) => number> {
    const stream = (descriptor: number) => descriptor < ROOT;
    const calls = {
      environ_get: () => OK,
      environ_sizes_get: (count: number, size: number) => (this.view.setUint32(count, 0, true), this.view.setUint32(size, 0, true), OK),
      clock_time_get: (clock: number, _precision: bigint, out: number) => {
        this.view.setBigUint64(out, BigInt(Math.round((clock === 0 ? Date.now() : performance.now()) * 1e6)), true);
        return OK;
      },
      fd_close: (descriptor: number) => (this.open.delete(descriptor) ? OK : BAD_DESCRIPTOR),
      fd_fdstat_get: (descriptor: number, out: number) => {
        const file = this.open.get(descriptor);
        if (!file && !stream(descriptor)) return BAD_DESCRIPTOR;
        this.bytes(out, 24).fill(0);
        this.view.setUint8(out, !file ? STREAM : file.folder ? FOLDER : FILE);
        this.view.setBigUint64(out + 8, 0xffffffffn, true);
        this.view.setBigUint64(out + 16, 0xffffffffn, true);
        return OK;
      },
      fd_fdstat_set_flags: () => OK,
      fd_filestat_get: (descriptor: number, out: number) => {
        const file = this.open.get(descriptor);
        if (!file) return BAD_DESCRIPTOR;
        return this.status(out, file.folder ? FOLDER : FILE, this.size(file.path), file.path);
      },
      fd_filestat_set_size: (descriptor: number, size: bigint) => {
        const file = this.stored.get(this.open.get(descriptor)?.path ?? '');
        if (!(file instanceof InMemory)) return BAD_DESCRIPTOR;
        file.growing.resize(Number(size));
        return OK;
      },
      fd_pread: (descriptor: number, list: number, count: number, at: bigint, out: number) => {
        const file = this.open.get(descriptor);
        return file ? this.read(file, Number(at), list, count, out) : BAD_DESCRIPTOR;
      },
      fd_pwrite: (descriptor: number, list: number, count: number, at: bigint, out: number) => {
        const file = this.open.get(descriptor);
        return file ? this.write(file, Number(at), list, count, out) : BAD_DESCRIPTOR;
      },
      fd_write: (descriptor: number, list: number, count: number, out: number) => {
        if (stream(descriptor)) return this.pieces(list, count, out, (piece) => piece.length);
        const file = this.open.get(descriptor);
        if (!file) return BAD_DESCRIPTOR;
        const done = this.write(file, file.at, list, count, out);
        if (done === OK) file.at += this.view.getUint32(out, true);
        return done;
      },
      fd_prestat_get: (descriptor: number, out: number) => {
        if (descriptor !== ROOT) return BAD_DESCRIPTOR;
        this.view.setUint32(out, 0, true);
        this.view.setUint32(out + 4, 1, true);
        return OK;
      },
      fd_prestat_dir_name: (_descriptor: number, at: number) => (this.bytes(at, 1).fill(47), OK),
      fd_readdir: (descriptor: number, at: number, room: number, cookie: bigint, out: number) => this.list(descriptor, at, room, cookie, out),
      fd_seek: (descriptor: number, by: bigint, from: number, out: number) => this.seek(descriptor, by, from, out),
      fd_sync: () => OK,
      path_create_directory: (base: number, at: number, size: number) => (this.folders.add(this.path(base, at, size)), OK),
      path_filestat_get: (base: number, _flags: number, at: number, size: number, out: number) => {
        const path = this.path(base, at, size);
        if (this.stored.has(path)) return this.status(out, FILE, this.size(path), path);
        return this.isFolder(path) ? this.status(out, FOLDER, 0, path) : ABSENT;
      },
      path_open: (base: number, _look: number, at: number, size: number, flags: number, _rights: bigint, _more: bigint, _how: number, out: number) =>
        this.openPath(base, at, size, flags, out),
      path_remove_directory: (base: number, at: number, size: number) => {
        const path = this.path(base, at, size);
        if (this.inside(path).length) return NOT_EMPTY;
        return this.folders.delete(path) ? OK : ABSENT;
      },
      path_rename: (base: number, at: number, size: number, toBase: number, toAt: number, toSize: number) =>
        this.rename(this.path(base, at, size), this.path(toBase, toAt, toSize)),
      path_unlink_file: (base: number, at: number, size: number) => (this.stored.delete(this.path(base, at, size)) ? OK : ABSENT),
      proc_exit: (code: number) => { throw new Exit(`the module ended with ${code}`); },
    };
    // Addresses above 2 GB come as negative numbers.
    const unsigned = (call: (...words: never[]) => number) => (...words: (number | bigint)[]) => call(...words.map((word) => (typeof word === 'number' ? word >>> 0 : word)) as never[]);
    return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, unsigned(call as (...words: never[]) => number)]));
  }
}
