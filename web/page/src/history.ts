// history.ts: what can be undone. A change knows how to take itself back and how to happen again; a gesture (a slider
// dragged, a key held) is one change, however many steps it takes.

export interface Change {
  says: string; // "turn elbow"
  undo(): void | Promise<void>;
  redo(): void | Promise<void>;
}

const MOST = 200;
export const PAUSE = 1000; // milliseconds; after a pause the same slider begins another change

export class History {
  private done: (Change & { gesture: string; at: number })[] = [];
  private undone: Change[] = [];
  private readonly watchers: (() => void)[] = [];
  private readonly movers: (() => void)[] = [];
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly now: () => number = () => performance.now()) {}

  get last(): string | null { return this.done.at(-1)?.says ?? null; }
  get next(): string | null { return this.undone.at(-1)?.says ?? null; }

  onChange(call: () => void) { this.watchers.push(call); }

  // Calls back after something was undone or done again.
  onMove(call: () => void) { this.movers.push(call); }

  // Steps of one gesture that follow each other within `pause` are one change.
  add(change: Change, gesture = '', pause = PAUSE) {
    const before = this.done.at(-1);
    const at = this.now();
    if (gesture && before?.gesture === gesture && at - before.at <= pause) Object.assign(before, { redo: change.redo, at });
    else this.done.push({ ...change, gesture, at });
    if (this.done.length > MOST) this.done.shift();
    this.undone = [];
    this.changed();
  }

  // One at a time, in the order they were asked for: some wait for the server. Says what was done; null: nothing.
  undo(): Promise<string | null> { return this.move('undo'); }
  redo(): Promise<string | null> { return this.move('redo'); }

  private move(way: 'undo' | 'redo'): Promise<string | null> {
    const moved = this.running.then(async () => {
      const change = way === 'undo' ? this.done.pop() : this.undone.pop();
      if (!change) return null;
      if (way === 'undo') this.undone.push(change);
      else this.done.push({ ...change, gesture: '', at: 0 });
      this.changed();
      await change[way]();
      for (const call of this.movers) call();
      return change.says;
    });
    this.running = moved.then(() => {}, () => {});
    return moved;
  }

  private changed() { for (const call of this.watchers) call(); }
}
