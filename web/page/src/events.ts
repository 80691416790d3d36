// events.ts: typed events.

export class Emitter<Events> {
  private readonly calls = new Map<keyof Events, Set<(value: never) => void>>();

  on<E extends keyof Events>(event: E, call: (value: Events[E]) => void): () => void {
    const set = this.calls.get(event) ?? new Set();
    this.calls.set(event, set);
    set.add(call as (value: never) => void);
    return () => void set.delete(call as (value: never) => void);
  }

  emit<E extends keyof Events>(event: E, value: Events[E]) {
    for (const call of [...(this.calls.get(event) ?? [])]) (call as (value: Events[E]) => void)(value);
  }
}
