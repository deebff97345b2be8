// The props that the shell gives to a page, and what a page folder exports.
import type { JSX } from "preact";
import type { Client } from "../api/client";
import type { ToolInfo } from "../api/types";

/** The query string of the address bar (the parent window's when framed), one string per key. */
export interface UrlState {
  get(key: string): string | null;
  /** Changes keys together; null removes one. `push` adds an entry to the history. */
  set(patch: Readonly<Record<string, string | null>>, mode: "push" | "replace"): void;
  /** Calls back after every change, including those by the back button; returns the unsubscribe function. */
  subscribe(listener: () => void): () => void;
  /** Tells the program around the page which events are selected; absent without such a program. */
  tellSelection?: ((selection: ToldSelection | null) => void) | undefined;
}

/** Selected events of the timeline. Times in ps. */
export interface ToldSelection {
  /** Host, plane and line of what follows. */
  readonly lines: readonly (readonly [host: string, plane: string, line: string])[];
  readonly events: readonly (readonly [line: number, name: string, begin: number, duration: number])[];
  /** All events of some rows that overlap a window, in place of single ones; `name`: only those. */
  readonly area: {
    readonly begin: number;
    readonly end: number;
    readonly name: string | null;
    readonly rows: readonly (readonly [line: number, first: number, last: number])[];
  } | null;
}

/** The choice of a base: another run, which pages show beside theirs. */
export interface BaseChoice {
  /** Null: none is chosen. */
  run: string | null;
  /** The run before the shown one; null if there is none. */
  proposed: string | null;
  choices: readonly { id: string; note: string }[];
  choose: (run: string | null) => void;
}

/** Whose decomposition of time the pages show: the plugin's time budget, or XProf's categories. */
export type Reading = "own" | "xprof";
/** Its key in the address; absent for the plugin's own. */
export const READING_KEY = "reading";

/** The key of the address that selects a category of step time, or a part of one, by its id. */
export const PART_KEY = "part";

/** The parameters of a document in one of the readings. */
export const askedReading = (reading: Reading): { reading?: Reading } => (reading === "xprof" ? { reading } : {});

export const readingOf = (state: Pick<UrlState, "get">): Reading => (state.get(READING_KEY) === "xprof" ? "xprof" : "own");

export interface PageProps {
  run: string;
  base: BaseChoice;
  tool: ToolInfo;
  /** The chosen host (or ALL_HOSTS); null if several are chosen. */
  host: string | null;
  /** All chosen hosts; one entry for a single choice. */
  hosts: string[];
  client: Client;
  state: UrlState;
  /** Matters to the pages that decompose time; a change renders the page again. */
  reading: Reading;
}

/** Default export of `tools/<folder>/page.tsx`. */
export interface PageModule {
  /** Tool ids that this page shows; the folder is named after the first, without its `@`. */
  ids: string[];
  Page: (props: PageProps) => JSX.Element;
  /** Whether the page shows a base beside its run. */
  compares?: boolean;
  /** Other tools whose findings the page shows besides its own; absent, it shows none: the overview has them all. */
  findings?: readonly string[] | undefined;
}
