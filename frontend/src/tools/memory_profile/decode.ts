// Decodes the memory profile: per memory, its events over time, its peak and the live allocations at the peak.
import { asDict, asList, asNumber, asText, badAnswer } from "../../api/payload/fields";
import type { Dict } from "../../api/payload/fields";

/** State of a memory after an allocation or deallocation. Sizes in bytes. */
export interface Snapshot extends Activity {
  timePs: number;
  stack: number;
  heap: number;
  free: number;
  /** 0 to 1. */
  fragmentation: number;
}

export interface Activity {
  release: boolean;
  requested: number;
  allocated: number;
  /** Empty if unknown. */
  op: string;
  step: string;
  region: string;
  dataType: string;
  shape: string;
}

interface PeakState {
  timePs: number;
  stack: number;
  heap: number;
  free: number;
  fragmentation: number;
  used: number;
  /** 0 if unknown: the allocator never says what is free, as PyTorch's of the host. */
  capacity: number;
  /** Largest heap since the program started, including before the profile. */
  lifetime: number;
}

/** An allocation that is live at the peak; identical ones are one row. */
export interface LiveRow extends Activity {
  occurrences: number;
  /** Not an event of the profile, but memory beyond the known allocations, such as the stack. */
  special: boolean;
}

export interface Memory {
  id: string;
  peak: PeakState;
  /** Ordered by time. */
  snapshots: Snapshot[];
  live: LiveRow[];
}

export interface ModuleRun {
  id: string;
  name: string;
  device: string;
  beginPs: number;
  endPs: number;
}

export interface MemoryProfile {
  memories: Memory[];
  modules: ModuleRun[];
}

/** Data types that mean unknown. */
const NO_TYPE = "INVALID";

const text = (dict: Dict, key: string): string => (dict[key] === undefined || dict[key] === null ? "" : asText(dict[key], key));
/** Texts for "none" that runtimes record. */
const known = (value: string): string => (value === "(null)" ? "" : value);
/** XProf's name of memory whose allocation the profile does not have, and the name that other charts of the page have for it. */
const BEFORE = "unused preallocated device memory";
export const NOT_SEEN = "Allocated before or not recorded";
/** The name of an op, without PyTorch's mark of its framework. */
const opName = (value: string): string => (value === BEFORE ? NOT_SEEN : known(value).replace(/:PyTorch$/, ""));
const idText = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");
const number = (dict: Dict, key: string): number => (dict[key] === undefined ? 0 : asNumber(dict[key], key));

function activity(value: unknown): Activity {
  const dict = asDict(value, "an activity");
  const type = text(dict, "dataType");
  return {
    release: text(dict, "memoryActivity") === "DEALLOCATION",
    requested: number(dict, "requestedBytes"),
    allocated: number(dict, "allocationBytes"),
    op: opName(text(dict, "tfOpName")),
    step: idText(dict["stepId"]),
    region: known(text(dict, "regionType")),
    dataType: type === NO_TYPE ? "" : type,
    shape: text(dict, "tensorShape") === "unknown" ? "" : text(dict, "tensorShape"),
  };
}

function stats(value: unknown): Pick<Snapshot, "stack" | "heap" | "free" | "fragmentation"> {
  const dict = asDict(value, "the state of a memory");
  return {
    stack: number(dict, "stackReservedBytes"),
    heap: number(dict, "heapAllocatedBytes"),
    free: number(dict, "freeMemoryBytes"),
    fragmentation: number(dict, "fragmentation"),
  };
}

function snapshot(value: unknown): Snapshot {
  const dict = asDict(value, "a snapshot");
  return { timePs: number(dict, "timeOffsetPs"), ...stats(dict["aggregationStats"]), ...activity(dict["activityMetadata"]) };
}

function readPeak(value: unknown, snapshots: readonly Snapshot[]): PeakState {
  const summary = asDict(value, "the summary of a memory");
  const peakStats = stats(summary["peakStats"]);
  return {
    ...peakStats,
    timePs: number(summary, "peakStatsTimePs"),
    used: peakStats.stack + peakStats.heap,
    capacity: peakStats.free > 0 || snapshots.some((one) => one.free > 0) ? number(summary, "memoryCapacity") : 0,
    lifetime: number(summary, "peakBytesUsageLifetime"),
  };
}

function readLive(dict: Dict): LiveRow[] {
  const snapshots = asList(dict["memoryProfileSnapshots"] ?? [], "the snapshots of a memory");
  const specials = asList(dict["specialAllocations"] ?? [], "the special allocations");
  return asList(dict["activeAllocations"] ?? [], "the active allocations").map((one): LiveRow => {
    const row = asDict(one, "an active allocation");
    const index = number(row, "snapshotIndex");
    const special = index < 0;
    const source = special ? specials[number(row, "specialIndex")] : asDict(snapshots[index], "a snapshot")["activityMetadata"];
    return { ...activity(source), occurrences: number(row, "numOccurrences"), special };
  });
}

/** Decodes the response; throws `bad_answer` if it is malformed. */
export function readMemoryProfile(value: unknown): MemoryProfile {
  const answer = asDict(value, "the memory profile");
  const perId = asDict(answer["memoryProfilePerAllocator"], "the memories");
  const memories = asList(answer["memoryIds"], "the memory ids").map((one): Memory => {
    const id = asText(one, "a memory id");
    if (perId[id] === undefined) throw badAnswer(`memory ${id} is named but not described`);
    const dict = asDict(perId[id], `memory ${id}`);
    const snapshots = asList(dict["sampledTimelineSnapshots"], `the history of memory ${id}`).map(snapshot);
    return { id, peak: readPeak(dict["profileSummary"], snapshots), snapshots, live: readLive(dict) };
  });
  const modules = asList(answer["hloModules"] ?? [], "the HLO modules").map((one): ModuleRun => {
    const dict = asDict(one, "an HLO module");
    return {
      id: idText(dict["id"]),
      name: text(dict, "name"),
      device: text(dict, "planeName"),
      beginPs: number(dict, "startTimePs"),
      endPs: number(dict, "endTimePs"),
    };
  });
  return { memories, modules };
}
