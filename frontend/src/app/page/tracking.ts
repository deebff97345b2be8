// Tracks the data requests of a page: their progress on the server and the hosts missing from the responses.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Client, Params, RequestOptions } from "../../api/client";

/** Progress is not requested for shorter requests. */
const FIRST_MS = 700;
const INTERVAL_MS = 400;
const LEFT_OUT_HEADER = "X-Profile-Left-Out";
const READ_BY_HEADER = "X-Profile-Read-By";

interface LeftOutHost {
  host: string;
  message: string;
}

/** Hosts missing from a response; `hosts` lists the first of `count`. */
export interface LeftOut {
  count: number;
  hosts: LeftOutHost[];
}

/** Where hosts of an answer were read, and why there; `fallback`: what was asked for failed. */
export interface ReadBy {
  name: string;
  hosts: number;
  reason: string;
  fallback: boolean;
}

interface TrackedRequests {
  /** The given client with its requests tracked. */
  client: Client;
  /** E.g. "2 of 3 hosts read, waiting for worker-2"; null when no request is pending or it concerns one host only. */
  progress: string | null;
  leftOut: LeftOut | null;
  /** Empty when the answers were made before. */
  readBy: ReadBy[];
  /** The page has received data. */
  ready: boolean;
}

/** Parses the header; null when it is absent or malformed. */
export function readLeftOut(headers: Headers): LeftOut | null {
  const text = headers.get(LEFT_OUT_HEADER);
  if (text === null) return null;
  try {
    const { count, hosts } = JSON.parse(text) as { count?: unknown; hosts?: unknown };
    if (typeof count !== "number" || !Array.isArray(hosts)) return null;
    const named = (hosts as Partial<LeftOutHost>[]).map(({ host, message }) => ({
      host: String(host ?? ""),
      message: String(message ?? ""),
    }));
    return { count, hosts: named };
  } catch {
    return null;
  }
}

/** Parses the header; empty when it is absent or malformed. */
export function readReadBy(headers: Headers): ReadBy[] {
  try {
    const value: unknown = JSON.parse(headers.get(READ_BY_HEADER) ?? "[]");
    if (!Array.isArray(value)) return [];
    return (value as Partial<ReadBy>[]).map(({ name, hosts, reason, fallback }) => ({
      name: String(name ?? ""),
      hosts: Number(hosts ?? 0),
      reason: String(reason ?? ""),
      fallback: fallback === true,
    }));
  } catch {
    return [];
  }
}

/** How many hosts have been read; `missing` names the first of the others. */
export interface HostsRead {
  done: number | null;
  total: number | null;
  missing: string[];
}

export function progressText({ done, total, missing }: HostsRead): string | null {
  if (done === null || total === null || total < 2) return null;
  const more = total - done - missing.length;
  const names = missing.join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `${done} of ${total} hosts read` + (names === "" ? "" : `, waiting for ${names}`);
}

/** The client for a page that shows `hosts` hosts of a run together; with one host no progress is requested. */
export function useTracking(client: Client, run: string, hosts: number): TrackedRequests {
  const [progress, setProgress] = useState<string | null>(null);
  const [leftOut, setLeftOut] = useState<LeftOut | null>(null);
  const [readBy, setReadBy] = useState<ReadBy[]>([]);
  const [ready, setReady] = useState(false);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => () => timers.current.forEach(clearTimeout), []);

  const heard = (headers: Headers): void => {
    setLeftOut((known) => readLeftOut(headers) ?? known);
    const engines = readReadBy(headers);
    if (engines.length > 0) setReadBy(engines);
  };
  const tracked = useMemo<Client>(() => {
    const track = async <T>(
      route: string,
      params: Params,
      options: RequestOptions,
      get: (options: RequestOptions) => Promise<T>,
    ): Promise<T> => {
      // Requests for a base have their own line on the page.
      if (route !== "page" || params["run"] !== run) return get(options);
      const value = await (hosts < 2 ? get(options) : follow(params, options, get));
      setReady(true);
      return value;
    };
    const follow = async <T>(params: Params, options: RequestOptions, get: (options: RequestOptions) => Promise<T>): Promise<T> => {
      let over = false;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const later = (ms: number): void => {
        timers.current.delete(timer as ReturnType<typeof setTimeout>);
        timer = setTimeout(() => void poll(), ms);
        timers.current.add(timer);
      };
      const poll = async (): Promise<void> => {
        try {
          const read = await client.json<HostsRead>("progress", params, { signal: options.signal });
          if (over || options.signal?.aborted === true) return;
          setProgress(progressText(read));
          later(INTERVAL_MS);
        } catch {
          // The data request itself reports the error.
        }
      };
      later(FIRST_MS);
      try {
        return await get({ ...options, onHeaders: heard });
      } finally {
        over = true;
        clearTimeout(timer);
        setProgress(null);
      }
    };
    return {
      url: (route, params) => client.url(route, params),
      json: (route, params = {}, options = {}) => track(route, params, options, (more) => client.json(route, params, more)),
      bytes: (route, params = {}, options = {}) => track(route, params, options, (more) => client.bytes(route, params, more)),
      text: (route, params = {}, options = {}) => track(route, params, options, (more) => client.text(route, params, more)),
      post: (route, body, options) => client.post(route, body, options),
    };
  }, [client, run, hosts]);
  return { client: tracked, progress, leftOut, readBy, ready };
}
