// What the module in the notebook gives to the pages in its frame.

import type { ToldSelection } from "../../page/page";

/** A response, as the kernel made it. */
export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

export interface Question {
  /** Route and query, such as `page?tag=overview_page`. */
  readonly address: string;
  readonly method: string;
  /** JSON; "" for none. */
  readonly body: string;
  readonly signal: AbortSignal | null;
}

/** The keys of the address. */
export type View = Readonly<Record<string, string>>;

export interface Notebook {
  /** Asks the kernel; rejects when it is gone. An aborted question rejects with the signal's reason. */
  ask(question: Question): Promise<Answer>;
  view(): View;
  setView(view: View): void;
  setSelection(selection: ToldSelection | null): void;
  /** Calls back when the kernel changed the view. */
  watchView(changed: () => void): void;
}

declare global {
  interface Window {
    /** In the frame of a widget, set before the script of the pages runs. */
    profileNotebook?: Notebook;
  }
}
