// Runs of collectives between slices as lanes with bars and flows. Pure.
import type { HostTransfers, TransferTimeline } from "../../base/documents";

/** An op of the TPU, or a mark of a copy between host and device. */
export interface Part {
  kind: string;
  beginPs: number;
  endPs: number;
}

/** One run of a collective on one device. */
export interface Run {
  host: string;
  device: number;
  rendezvous: string;
  /** Counts the runs of the collective on the device, from 1. */
  number: number;
  parts: readonly Part[];
  /** Places in `parts`: from, to. */
  flows: readonly (readonly [number, number])[];
}

/** The runs of all collectives, by host, device and name, in the order of time. */
export const runsOf = ({ kinds, hosts }: TransferTimeline): Run[] => hosts.flatMap((host) => runsOfHost(host, kinds));

function runsOfHost({ host, names, parts, flows }: HostTransfers, kinds: readonly string[]): Run[] {
  const { device: devices, rendezvous: codes, kind, begin_ps: begins, end_ps: ends, run: ids } = parts;
  const [from, to] = flows;
  const groups = new Map<string, number[]>();
  ids.forEach((run, at) => {
    const key = `${devices[at]} ${codes[at]} ${run}`;
    const group = groups.get(key);
    if (group) group.push(at);
    else groups.set(key, [at]);
  });
  const place = new Map<number, number>();
  for (const group of groups.values()) group.sort((a, b) => (begins[a] ?? 0) - (begins[b] ?? 0)).forEach((at, i) => place.set(at, i));
  const flowsOf = new Map<number, [number, number][]>();
  const groupOf = new Map([...groups.values()].flatMap((group, number) => group.map((at) => [at, number] as const)));
  from.forEach((source, i) => {
    const target = to[i] ?? -1;
    const group = groupOf.get(source) ?? -1;
    flowsOf.set(group, [...(flowsOf.get(group) ?? []), [place.get(source) ?? 0, place.get(target) ?? 0]]);
  });
  const runs = [...groups.values()].map((group, number) => ({
    host,
    device: devices[group[0] ?? 0] ?? 0,
    rendezvous: names[codes[group[0] ?? 0] ?? 0] ?? "",
    number: 0,
    parts: group.map((at) => ({ kind: kinds[kind[at] ?? 0] ?? "", beginPs: begins[at] ?? 0, endPs: ends[at] ?? 0 })),
    flows: flowsOf.get(number) ?? [],
  }));
  runs.sort((a, b) => a.device - b.device || (a.parts[0]?.beginPs ?? 0) - (b.parts[0]?.beginPs ?? 0));
  const counts = new Map<string, number>();
  return runs.map((run) => {
    const key = `${run.device} ${run.rendezvous}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return { ...run, number: counts.get(key) ?? 1 };
  });
}

/** Text of a run in the chooser, and its key in the address. */
export const runKey = (run: Run): string => `${run.rendezvous} ${run.number}: ${run.host} TPU ${run.device}`;

export const LANES = ["TPU ops", "Device to host", "Host to device"] as const;

export interface Placed {
  part: Part;
  lane: number;
  /** Shares of the width, 0 to 1. */
  from: number;
  to: number;
}

/** The parts of a run on their lanes. */
export function layout(run: Run): { placed: Placed[]; beginPs: number; lengthPs: number } {
  const beginPs = Math.min(...run.parts.map((part) => part.beginPs));
  const lengthPs = Math.max(1, Math.max(...run.parts.map((part) => part.endPs)) - beginPs);
  const placed = run.parts.map((part) => ({
    part,
    lane: part.kind.startsWith("DeviceToHost") ? 1 : part.kind.startsWith("HostToDevice") ? 2 : 0,
    from: (part.beginPs - beginPs) / lengthPs,
    to: (part.endPs - beginPs) / lengthPs,
  }));
  return { placed, beginPs, lengthPs };
}
