// Answers stored in a file, compressed one by one: the requests of the page are answered without a server.
import type { Fetch } from "./client";

/** Where an answer is in the data: offset and bytes of its zlib stream, and its HTTP status. */
type Place = readonly [offset: number, length: number, status: number];

/** What a saved report says about itself. */
export interface ReportFacts {
  run: string;
  base: string | null;
  /** Whether the file has the runs over time. */
  trend: boolean;
  /** Version of the package that saved it. */
  version: string;
  /** What was replaced and what was left; null for a report with all names. */
  redacted: string | null;
}

/** The list of the stored answers. */
export interface StoredIndex {
  report: ReportFacts;
  /** The parameters of each tool with their defaults, which a request may spell out or leave out. */
  defaults: Readonly<Record<string, Readonly<Record<string, string>>>>;
  answers: Readonly<Record<string, Place>>;
}

/** An answer that a page gets: the stored one, or one that is made of it. */
export interface StoredAnswer {
  readonly status: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The address of the answers; nothing is requested from it. */
export const STORED_BASE = "https://report.invalid/";

/** The name of a request: its route and its parameters in order, without those that have their default. Python makes the same. */
export function storedKey(route: string, params: Iterable<readonly [string, string]>, defaults: StoredIndex["defaults"]): string {
  const all = [...params];
  const tag = all.find(([name]) => name === "tag")?.[1] ?? "";
  const given = route === "page" ? (defaults[tag] ?? {}) : {};
  const kept = all.filter(([name, value]) => value !== "" && given[name] !== value);
  return JSON.stringify([route, ...kept.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))]);
}

async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class StoredAnswers {
  constructor(
    readonly index: StoredIndex,
    private readonly data: Uint8Array<ArrayBuffer>,
  ) {}

  /** The answer to a request; null if it is not stored. */
  async find(route: string, params: Iterable<readonly [string, string]>): Promise<StoredAnswer | null> {
    const key = storedKey(route, params, this.index.defaults);
    const place = Object.hasOwn(this.index.answers, key) ? this.index.answers[key] : undefined;
    if (!place) return null;
    const [offset, length, status] = place;
    return { status, body: await inflated(this.data.subarray(offset, offset + length)) };
  }
}

/** Makes answers of stored ones, such as the hits of a search; null for a request that it does not know. */
export type Maker = (route: string, params: URLSearchParams) => Promise<StoredAnswer | null>;

const MISSING = {
  error: {
    code: "not_in_report",
    message: "A saved report holds the first view of every page, and the timeline of one window.",
    details: {},
  },
};

/** Answers requests as a server would: by `make`, else as stored. */
export function storedFetch(answers: StoredAnswers, make: Maker): Fetch {
  return async (address, { signal }) => {
    const { pathname, searchParams } = new URL(address);
    const route = pathname.slice(1);
    const answer = (await make(route, searchParams)) ?? (await answers.find(route, searchParams));
    signal?.throwIfAborted();
    return answer ? new Response(answer.body, { status: answer.status }) : new Response(JSON.stringify(MISSING), { status: 404 });
  };
}
