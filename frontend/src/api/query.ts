// The routes of SQL (what can be asked, start, status, result, cancel) and their payload types.
import type { Client, RequestOptions } from "./client";
import type { DataTable } from "./types";

export interface QueryColumn {
  id: string;
  /** Type in SQL. */
  type: string;
  unit: string;
  sentence: string;
}

export interface QueryTable {
  name: string;
  summary: string;
  columns: QueryColumn[];
}

export interface QueryExample {
  id: string;
  title: string;
  sentence: string;
  sql: string;
  /** The runs that it is about: one or any number, a pair, or all. */
  over: "run" | "pair" | "all";
}

/** What can be asked. */
export interface QueryAbout {
  /** Why this server cannot answer, such as what to install; null if it can. */
  missing: string | null;
  tables: QueryTable[];
  examples: QueryExample[];
  limits: { seconds: number; rows: number; memory_bytes: number };
}

/** A failure of a statement; details may hold `line` and `column`, from 1, of the place. */
export interface QueryFailure {
  code: string;
  message: string;
  details: Readonly<Record<string, unknown>>;
}

export interface QueryStatus {
  query: string;
  state: "waiting" | "reading" | "running" | "done" | "failed" | "cancelled";
  /** What is being done, such as "Reading events of run x (1 of 2)"; "" if unknown. */
  progress: string;
  seconds: number;
  error: QueryFailure | null;
  /** Rows of the result; null before it is done. */
  rows: number | null;
  /** The result has more rows than the limit. */
  cut: boolean;
  /** Sentences on what is missing from the result. */
  notes: string[];
}

export type QueryFile = "csv" | "parquet";

/** The runs of a query: names, or one pattern with `*`. */
export type QueryRuns = readonly string[] | string;

export interface QueryApi {
  about: (options?: RequestOptions) => Promise<QueryAbout>;
  start: (statement: string, runs: QueryRuns) => Promise<QueryStatus>;
  status: (query: string, options?: RequestOptions) => Promise<QueryStatus>;
  /** The first rows of the result. */
  rows: (query: string, most: number, options?: RequestOptions) => Promise<DataTable>;
  /** The whole result as a file. */
  file: (query: string, format: QueryFile) => Promise<ArrayBuffer>;
  cancel: (query: string) => Promise<QueryStatus>;
}

export function makeQueryApi(client: Client): QueryApi {
  return {
    about: (options) => client.json("query_about", {}, options),
    start: (statement, runs) => client.post("query", { statement, runs }),
    status: (query, options) => client.json("query_status", { query }, options),
    rows: (query, most, options) => client.json("query_result", { query, format: "json", rows: most }, options),
    file: (query, format) => client.bytes("query_result", { query, format }),
    cancel: (query) => client.post("query_cancel", { query }, { keepalive: true }),
  };
}
