// Requests to the server for boxes, event details and search hits.
import type { Client } from "../../../api/client";
import type { RangeRequest } from "../../../timeline/data/fetch_policy";
import type { Flow } from "../../../timeline/layout/flows";
import { decodeSearchHits } from "../../../timeline/data/search_hits";
import type { SearchHits } from "../../../timeline/data/search_hits";
import { decodeTrace } from "../../../timeline/data/trace";
import type { EventRef, Trace } from "../../../timeline/data/trace";
import type { SelectedArea, Summary } from "../../../timeline/data/selection";
import type { Ps, Span } from "../../../timeline/data/units";

const PS_PER_MS = 1e9;
/** Maximum number of hits that the server sends; the header has the total. */
const MAX_HITS = 10_000;

interface EventArg {
  readonly key: string;
  readonly value: string | number;
  readonly kind?: string;
}

/** An event that encloses another on the same track. */
interface Ancestor {
  readonly name: string;
  readonly row: number;
  readonly event: number;
  readonly begin_ps: number;
  readonly duration_ps: number;
}

interface WireFlow {
  readonly id: string;
  readonly category?: string;
  readonly ends?: readonly (Omit<Flow["ends"][number], "begin" | "duration"> & {
    readonly begin_ps: number;
    readonly duration_ps: number;
  })[];
}

/** Response of `format=event`. */
export interface EventDetails {
  readonly name: string;
  readonly long_name?: string | null;
  readonly section: string;
  readonly track: string;
  readonly pid: number;
  readonly tid: number;
  readonly begin_ps: number;
  readonly duration_ps: number;
  readonly args: readonly EventArg[];
  readonly group_id?: number | string | null;
  readonly group_name?: string | null;
  readonly row?: number;
  readonly stack?: readonly string[];
  readonly ancestors?: readonly Ancestor[];
  readonly flows?: readonly WireFlow[];
}

/** A time in which a device runs no op. */
export interface Gap {
  readonly host: string;
  readonly device: string;
  /** 1 for the longest gap of its device. */
  readonly rank: number;
  readonly begin_ps: Ps;
  readonly duration_ps: Ps;
  /** Share of the time from the first step or op to the last. */
  readonly percent: number;
  /** The steps that hold at least half of it, "" without any, and the share of them that it takes. */
  readonly steps: string;
  readonly steps_percent: number | null;
  /** The host call under it, and the deepest event of the main thread; "" without one. */
  readonly call: string;
  readonly event: string;
  /** Without a host call: the event that covers at least half of the gap, and its share; "" without one. */
  readonly partial_call: string;
  readonly partial_percent: number | null;
  /** Whether Python functions were recorded. */
  readonly traced: boolean;
  readonly within_program: boolean;
  /** The process that shows the device; null if none does. */
  readonly pid: number | null;
}

/** Response of `format=path`: columns of pieces by begin. */
export interface WirePath {
  readonly devices: readonly string[];
  readonly device: string;
  readonly parts: readonly { readonly id: string; readonly name: string; readonly ps: Ps }[];
  readonly steps: readonly { readonly name: string; readonly begin_ps: Ps; readonly duration_ps: Ps }[];
  readonly names: readonly string[];
  /** Index into `parts`. */
  readonly part: readonly number[];
  readonly begin_ps: readonly Ps[];
  readonly duration_ps: readonly Ps[];
  /** How many pieces each stands for. */
  readonly count: readonly number[];
  /** Index into `names`, -1 without an event. */
  readonly name: readonly number[];
  /** Where the event is shown, -1 without one. */
  readonly pid: readonly number[];
  readonly tid: readonly number[];
  readonly event: readonly number[];
  readonly row: readonly number[];
  readonly event_begin_ps: readonly Ps[];
  readonly event_duration_ps: readonly Ps[];
}

/** Response of `format=slack`. */
export interface Slack {
  readonly bound: "exactly" | "at most" | "at least" | "unknown";
  readonly ps: Ps;
  readonly why: string;
  readonly path_ps: Ps;
}

/** Response of `format=sums`. */
interface WireSums {
  readonly events: number;
  readonly self_ps: number;
  readonly names: number;
  readonly rows: readonly {
    readonly name: string;
    readonly count: number;
    readonly wall_ps: number;
    readonly self_ps: number;
    readonly min_ps: number;
    readonly max_ps: number;
  }[];
}

/** Sums over a rectangle; `rows` may lack the shortest of very many names. */
export interface AreaSums {
  readonly events: number;
  /** Sum of the self times; null if one is not known. */
  readonly self: Ps | null;
  readonly names: number;
  readonly rows: readonly Summary[];
}

export interface Query {
  readonly text: string;
  readonly regex: boolean;
  /** The text is the whole name. */
  readonly whole: boolean;
  readonly matchCase: boolean;
  readonly args: boolean;
}

/** The tool id for requests of windows: the other one only sends whole traces, for other programs. */
const TAG = "trace_viewer@";

/** Identifies a trace: a run and one or several of its hosts. */
export interface Place {
  readonly run: string;
  readonly hosts: readonly string[];
  /** What is added to the times of hosts, `HOST:PS` joined by commas; "" shows them as recorded. */
  readonly clocks?: string;
  /** Rows and names as XProf has them. */
  readonly xprof?: boolean;
}

/** A range, or the whole trace, at a resolution. */
export type WantedBoxes = RangeRequest | { readonly range: null; readonly resolution: number };

export class Source {
  constructor(
    private readonly client: Client,
    readonly place: Place,
  ) {}

  /** Query parameters that identify the trace, including its hosts. */
  params(): Record<string, string> {
    const { run, hosts } = this.place;
    const [only] = hosts;
    const trace = { run, tag: TAG, ...this.view() };
    if (hosts.length > 1) return { ...trace, hosts: hosts.join(",") };
    return only === undefined ? trace : { ...trace, host: only };
  }

  /** Parameters of the view: corrected clocks, and whose rows and names are shown. */
  private view(): Record<string, string> {
    const { clocks, xprof } = this.place;
    return { ...(clocks ? { clocks } : {}), ...(xprof ? { reading: "xprof" } : {}) };
  }

  /** Fetches the boxes of a range at a resolution; `preview`: recorded lines will do while a large profile is read. */
  async boxes(wanted: WantedBoxes, signal: AbortSignal, preview = false): Promise<Trace> {
    const range = wanted.range && windowParams(wanted.range.begin, wanted.range.end);
    const params = {
      ...this.params(),
      format: "columns",
      ...(preview ? { preview: "true" } : {}),
      ...range,
      resolution: Math.round(wanted.resolution),
    };
    return decodeTrace(await this.client.bytes("page", params, { signal }));
  }

  /** Fetches the details of an event. `host` is that of its section, if several are shown. */
  event(ref: EventRef, host: string, signal?: AbortSignal): Promise<EventDetails> {
    return this.client.json<EventDetails>("page", { ...this.about(ref, host), format: "event" }, { signal });
  }

  /** Parameters of a request about one event. */
  private about({ pid, tid, event }: EventRef, host: string) {
    return { run: this.place.run, tag: TAG, ...this.view(), host: host || this.place.hosts[0], pid, tid, event };
  }

  /** Searches the whole trace for events whose names (and args) match. */
  async search(query: Query, signal: AbortSignal): Promise<SearchHits> {
    const params = {
      ...this.params(),
      format: "search",
      query: query.text,
      limit: MAX_HITS,
      ...(query.regex ? { regex: 1 } : {}),
      ...(query.whole ? { whole: 1 } : {}),
      ...(query.matchCase ? { case: 1 } : {}),
      ...(query.args ? { args: 1 } : {}),
    };
    return decodeSearchHits(await this.client.bytes("page", params, { signal }));
  }

  /** Sums per name over all events of a rectangle, longest first. */
  async sums({ window, tracks, name }: SelectedArea, signal: AbortSignal): Promise<AreaSums> {
    const params = {
      ...this.params(),
      format: "sums",
      ...windowParams(window.begin, window.end),
      areas: tracks.map(({ pid, tid, first, last }) => `${pid}.${tid}.${first}.${last}`).join(","),
    };
    return sumsOf(await this.client.json<WireSums>("page", params, { signal }), name);
  }

  /** The longest gaps of all devices, longest first. */
  async gaps(signal: AbortSignal): Promise<readonly Gap[]> {
    const params = { ...this.params(), format: "gaps" };
    return (await this.client.json<{ readonly gaps: readonly Gap[] }>("page", params, { signal })).gaps;
  }

  /** The binding path of a device in a window; "" for the device that the others wait for. */
  path(window: Span, device: string, signal: AbortSignal): Promise<WirePath> {
    const params = { ...this.params(), format: "path", ...windowParams(window.begin, window.end), ...(device ? { device } : {}) };
    return this.client.json<WirePath>("page", params, { signal });
  }

  /** The slack of an event; `host` and `device` as of `event` and `path`. */
  slack(ref: EventRef, host: string, device: string, signal: AbortSignal): Promise<Slack> {
    const params = { ...this.about(ref, host), format: "slack", ...(device ? { device } : {}) };
    return this.client.json<Slack>("page", params, { signal });
  }

  /** Fetches all events of a window, unmerged, as trace-event JSON, for exports. */
  events(begin: number, end: number): Promise<string> {
    return this.client.text("page", { ...this.params(), ...windowParams(begin, end), format: "events" });
  }

  /** Fetches all events of a window as a file of Perfetto. */
  perfetto(begin: number, end: number): Promise<ArrayBuffer> {
    return this.client.bytes("page", { ...this.params(), ...windowParams(begin, end), format: "perfetto" });
  }
}

/** The parameters of a window. */
function windowParams(begin: Ps, end: Ps): Record<string, number> {
  return { start_time_ms: begin / PS_PER_MS, end_time_ms: end / PS_PER_MS };
}

function sumsOf(wire: WireSums, only: string | null): AreaSums {
  const rows = wire.rows.filter(({ name }) => only === null || name === only);
  const [one] = rows;
  return {
    events: only === null ? wire.events : (one?.count ?? 0),
    self: only === null ? wire.self_ps : (one?.self_ps ?? 0),
    names: only === null ? wire.names : rows.length,
    rows: rows.map(({ name, count, wall_ps, self_ps: self, min_ps, max_ps }) => ({
      name,
      count,
      wall: wall_ps,
      self,
      average: wall_ps / Math.max(count, 1),
      min: min_ps,
      max: max_ps,
    })),
  };
}

/** The flows of a response in the form used by the timeline. */
export function flowsOf(details: EventDetails): Flow[] {
  return (details.flows ?? []).flatMap((flow) => {
    const ends = flow.ends;
    if (ends === undefined || ends.length < 2) return [];
    return [
      {
        id: String(flow.id),
        category: flow.category ?? "",
        ends: ends.map(({ begin_ps, duration_ps, ...end }) => ({ ...end, begin: begin_ps, duration: duration_ps })),
      },
    ];
  });
}
