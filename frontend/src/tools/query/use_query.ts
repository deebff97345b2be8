// Runs a statement: starts it, asks how far it is, fetches the rows; a new statement or leaving the page cancels it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api/error";
import { readTable } from "../../api/payload/table";
import type { QueryApi, QueryFailure, QueryRuns, QueryStatus } from "../../api/query";
import type { TableData } from "../../base/table/table_data";
import { MOST_ROWS, namedAsInSql } from "./model";

/** Pauses between questions; the last one repeats. */
const PAUSES_MS = [100, 200, 400];

export interface Asked {
  statement: string;
  runs: QueryRuns;
}

export type Progress =
  | { phase: "idle" }
  | { phase: "running"; asked: Asked; began: number; doing: string }
  | { phase: "failed"; asked: Asked; error: QueryFailure; cancelled: boolean }
  | { phase: "done"; asked: Asked; status: QueryStatus; table: TableData };

export interface Runner {
  progress: Progress;
  run: (asked: Asked) => void;
  cancel: () => void;
  /** Cancels and forgets the result. */
  clear: () => void;
}

export const failureOf = (error: unknown): QueryFailure =>
  error instanceof ApiError
    ? { code: error.code, message: error.message, details: error.details }
    : { code: "internal", message: error instanceof Error ? error.message : String(error), details: {} };

const ended = ({ state }: QueryStatus): boolean => state === "done" || state === "failed" || state === "cancelled";

/** One execution; reports until it is stopped. */
class Execution {
  private readonly gone = new AbortController();
  private unwanted = false;
  private id: string | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly api: QueryApi,
    private readonly asked: Asked,
    private readonly report: (progress: Progress) => void,
  ) {
    void this.follow();
  }

  /** Ends it on the server, at once or as soon as its id is known; the page hears of it as of any other end. */
  cancel(): void {
    this.unwanted = true;
    if (this.id !== null) void this.api.cancel(this.id).catch(() => undefined);
  }

  /** Its answer is no longer wanted. */
  stop(): void {
    this.gone.abort();
    clearTimeout(this.timer);
    this.cancel();
  }

  private async follow(): Promise<void> {
    const { api, asked, gone } = this;
    const began = Date.now();
    const running = (doing: string): void => this.tell({ phase: "running", asked, began, doing });
    running("");
    try {
      let status = await api.start(asked.statement, asked.runs);
      if (!ended(status)) this.id = status.query;
      if (this.unwanted) this.cancel();
      if (gone.signal.aborted) return;
      for (let round = 0; !ended(status); round++) {
        running(status.progress);
        await this.pause(PAUSES_MS[Math.min(round, PAUSES_MS.length - 1)] ?? 0);
        status = await api.status(status.query, { signal: gone.signal });
      }
      this.id = null;
      if (status.error !== null) return this.tell({ phase: "failed", asked, error: status.error, cancelled: status.state === "cancelled" });
      running("Reading the rows");
      const table = namedAsInSql(readTable(await api.rows(status.query, MOST_ROWS, { signal: gone.signal })));
      this.tell({ phase: "done", asked, status, table });
    } catch (error) {
      this.tell({ phase: "failed", asked, error: failureOf(error), cancelled: false });
    }
  }

  private tell(progress: Progress): void {
    if (!this.gone.signal.aborted) this.report(progress);
  }

  private pause(ms: number): Promise<void> {
    return new Promise((done) => {
      this.timer = setTimeout(done, ms);
    });
  }
}

export function useQuery(api: QueryApi): Runner {
  const [progress, setProgress] = useState<Progress>({ phase: "idle" });
  const running = useRef<Execution | null>(null);
  const stop = (): void => {
    running.current?.stop();
    running.current = null;
  };
  useEffect(() => {
    window.addEventListener("pagehide", stop);
    return () => {
      window.removeEventListener("pagehide", stop);
      stop();
    };
  }, []);
  const actions = useMemo(
    () => ({
      run: (asked: Asked): void => {
        stop();
        running.current = new Execution(api, asked, setProgress);
      },
      cancel: (): void => running.current?.cancel(),
      clear: (): void => {
        stop();
        setProgress({ phase: "idle" });
      },
    }),
    [api],
  );
  return { progress, ...actions };
}
