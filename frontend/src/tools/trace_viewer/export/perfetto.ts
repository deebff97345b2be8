// Converts trace events to a Perfetto trace: tracks per process and thread, slices, instants, counters, flows.
import type { ChromeEvent, ChromeTrace } from "./chrome_trace";
import { ProtoWriter } from "./proto_writer";

// Field numbers of perfetto.protos.Trace and its submessages.
const TRACE_PACKET = 1;
const PACKET = { timestamp: 8, sequence: 10, event: 11, flags: 13, descriptor: 60 } as const;
const TRACK = { uuid: 1, name: 2, process: 3, parent: 5, counter: 8, childOrdering: 11, rank: 12 } as const;
const PROCESS = { pid: 1, name: 6 } as const;
const EVENT = { annotation: 4, type: 9, track: 11, name: 23, doubleValue: 44, flow: 47 } as const;
const ANNOTATION = { text: 6, double: 5, name: 10 } as const;
const TYPE = { begin: 1, end: 2, instant: 3, counter: 4 } as const;
const EXPLICIT_ORDER = 3;
const SEQUENCE = 1;
/** Sent once: the sequence starts without interned data. */
const CLEARED = 1;

interface Timed {
  readonly event: Partial<ChromeEvent>;
  /** In ns, rounded, because that is the format's resolution. */
  readonly begin: number;
  readonly end: number;
}

/** One stack of nested events. */
interface Lane {
  readonly uuid: number;
  readonly open: number[];
}

/** Encodes the trace as a .pftrace file. */
export function perfettoFile(trace: ChromeTrace): Uint8Array<ArrayBuffer> {
  const writer = new PerfettoWriter();
  writer.processes(trace.traceEvents);
  for (const [key, events] of threads(trace.traceEvents)) writer.thread(key, events);
  for (const event of trace.traceEvents) {
    if (event.ph === "C") writer.counter(event);
  }
  return writer.finish();
}

/** Slices and instants per "pid.tid", by time, longer ones first. */
function threads(events: readonly Partial<ChromeEvent>[]): Map<string, Timed[]> {
  const lists = new Map<string, Timed[]>();
  for (const event of events) {
    if ((event.ph !== "X" && event.ph !== "i" && event.ph !== "I") || event.ts === undefined) continue;
    const key = `${event.pid}.${event.tid}`;
    const list = lists.get(key) ?? [];
    if (list.length === 0) lists.set(key, list);
    const begin = Math.round(event.ts * 1000);
    list.push({ event, begin, end: event.ph === "X" ? Math.round((event.ts + (event.dur ?? 0)) * 1000) : begin });
  }
  for (const list of lists.values()) list.sort((a, b) => a.begin - b.begin || b.end - a.end);
  return lists;
}

function pidOf(key: string): number {
  return Number(key.split(".")[0]);
}

class PerfettoWriter {
  private readonly out = new ProtoWriter();
  private readonly names = new Map<string, string>();
  private readonly ranks = new Map<string, number>();
  private readonly tracks = new Map<string, number>();
  private packets = 0;

  finish(): Uint8Array<ArrayBuffer> {
    return this.out.finish();
  }

  /** Names of processes and threads, and a track per process. */
  processes(events: readonly Partial<ChromeEvent>[]): void {
    const pids = new Set<number>();
    for (const event of events) {
      if (event.pid === undefined) continue;
      pids.add(event.pid);
      if (event.ph !== "M") continue;
      const key = event.name?.startsWith("process") ? `${event.pid}` : `${event.pid}.${event.tid}`;
      const name = event.args?.["name"];
      const rank = event.args?.["sort_index"];
      if (typeof name === "string") this.names.set(key, name);
      if (rank !== undefined) this.ranks.set(key, Number(rank));
    }
    for (const pid of pids) {
      const process = new ProtoWriter().int(PROCESS.pid, pid).text(PROCESS.name, this.names.get(`${pid}`) ?? `${pid}`);
      this.describe(`${pid}`, (track) => track.message(TRACK.process, process).uint(TRACK.childOrdering, EXPLICIT_ORDER));
    }
  }

  /** Writes the slices of a thread. Those that overlap without nesting go to additional tracks of the same name. */
  thread(key: string, events: readonly Timed[]): void {
    const lanes: Lane[] = [];
    for (const item of events) {
      let lane = lanes.find((candidate) => this.fits(candidate, item));
      if (lane === undefined) {
        lane = { uuid: this.lane(key, lanes.length), open: [] };
        lanes.push(lane);
      }
      this.slice(lane, item);
    }
    for (const lane of lanes) this.close(lane, Infinity);
  }

  /** Writes grouped or single samples of a counter. */
  counter(event: Partial<ChromeEvent>): void {
    const key = `${event.pid}.c.${event.name}`;
    const uuid =
      this.tracks.get(key) ??
      this.describe(key, (track) =>
        track
          .text(TRACK.name, event.name ?? "")
          .uint(TRACK.parent, this.tracks.get(`${event.pid}`) ?? 0)
          .message(TRACK.counter, new ProtoWriter()),
      );
    const single = Object.values(event.args ?? {}).find((value) => typeof value === "number");
    const samples = event.entries ?? (event.ts === undefined ? [] : [[event.ts, single ?? 0]]);
    for (const [ts, value] of samples) {
      const sample = new ProtoWriter()
        .uint(EVENT.type, TYPE.counter)
        .uint(EVENT.track, uuid)
        .double(EVENT.doubleValue, value ?? 0);
      this.packet((packet) => packet.uint(PACKET.timestamp, Math.max(0, Math.round((ts ?? 0) * 1000))).message(PACKET.event, sample));
    }
  }

  private fits(lane: Lane, item: Timed): boolean {
    this.close(lane, item.begin);
    const inner = lane.open[lane.open.length - 1];
    return inner === undefined || item.end <= inner;
  }

  private slice(lane: Lane, { event, begin, end }: Timed): void {
    const instant = event.ph !== "X";
    const body = new ProtoWriter()
      .uint(EVENT.type, instant ? TYPE.instant : TYPE.begin)
      .uint(EVENT.track, lane.uuid)
      .text(EVENT.name, event.name ?? "");
    for (const [name, value] of Object.entries(event.args ?? {})) body.message(EVENT.annotation, annotation(name, value));
    if (event.bind_id !== undefined) body.fixed64(EVENT.flow, flowId(event.bind_id));
    this.packet((packet) => packet.uint(PACKET.timestamp, begin).message(PACKET.event, body));
    if (!instant) lane.open.push(end);
  }

  /** Ends the slices of a lane that end before `time`. */
  private close(lane: Lane, time: number): void {
    for (let end = lane.open[lane.open.length - 1]; end !== undefined && end <= time; end = lane.open[lane.open.length - 1]) {
      lane.open.pop();
      const endPs = end;
      const body = new ProtoWriter().uint(EVENT.type, TYPE.end).uint(EVENT.track, lane.uuid);
      this.packet((packet) => packet.uint(PACKET.timestamp, endPs).message(PACKET.event, body));
    }
  }

  private lane(key: string, number: number): number {
    const name = this.names.get(key) ?? `thread ${key.split(".")[1]}`;
    return this.describe(`${key}#${number}`, (track) =>
      track
        .text(TRACK.name, name)
        .uint(TRACK.parent, this.tracks.get(`${pidOf(key)}`) ?? 0)
        .int(TRACK.rank, rank(this.ranks.get(key))),
    );
  }

  /** Writes a track descriptor and returns its uuid. */
  private describe(key: string, fill: (track: ProtoWriter) => ProtoWriter): number {
    const uuid = this.tracks.size + 1;
    this.tracks.set(key, uuid);
    const track = fill(new ProtoWriter().uint(TRACK.uuid, uuid));
    this.packet((packet) => packet.message(PACKET.descriptor, track));
    return uuid;
  }

  private packet(fill: (packet: ProtoWriter) => ProtoWriter): void {
    const packet = fill(new ProtoWriter()).uint(PACKET.sequence, SEQUENCE);
    if (this.packets++ === 0) packet.uint(PACKET.flags, CLEARED);
    this.out.message(TRACE_PACKET, packet);
  }
}

/** Converts unsigned sort indexes to signed 32 bits, preserving the order. */
function rank(index: number | undefined): number {
  return Math.min(Math.floor((index ?? 0) / 2), 0x7fffffff);
}

function annotation(name: string, value: unknown): ProtoWriter {
  const body = new ProtoWriter().text(ANNOTATION.name, name);
  if (typeof value === "number") return body.double(ANNOTATION.double, value);
  return body.text(ANNOTATION.text, typeof value === "string" ? value : JSON.stringify(value));
}

function flowId(id: number | string): bigint {
  try {
    return BigInt(id);
  } catch {
    return 0n;
  }
}
