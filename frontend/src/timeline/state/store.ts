// A generic store: an immutable value that is replaced by commands, with change subscribers.

/** A pure function from one state to the next; returns its argument when nothing changes. */
export type Command<S> = (state: S) => S;

type Listener<S> = (state: S, before: S) => void;

export class Store<S> {
  private readonly listeners = new Set<Listener<S>>();

  constructor(private current: S) {}

  get state(): S {
    return this.current;
  }

  /** Applies commands in order; subscribers are called once, only if the state changed. */
  apply(...commands: readonly Command<S>[]): void {
    const before = this.current;
    this.current = commands.reduce((state, command) => command(state), before);
    if (this.current === before) return;
    for (const listener of [...this.listeners]) listener(this.current, before);
  }

  /** Returns the function that unsubscribes. */
  subscribe(listener: Listener<S>): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
