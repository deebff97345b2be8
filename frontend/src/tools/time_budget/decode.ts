// Decodes the time budget: parts of every step on every device, in picoseconds.
import { readDecomposition } from "../../api/payload/decomposition";
import { asDict, asList, asNumber, asTable, asText, badAnswer, textsOf } from "../../api/payload/fields";
import type { Decomposition } from "../../base/steps/decomposition";

export interface BudgetStep {
  number: number;
  name: string;
  /** Per device, on the time axis of its host. */
  beginPs: readonly number[];
  /** Per device. */
  durationPs: readonly number[];
}

interface BudgetDevice {
  /** With its host if there are several. */
  label: string;
  name: string;
  host: string;
  kind: string;
}

/** A part of a category, in the order of the categories. */
export interface Part {
  id: string;
  name: string;
  help: string;
  category: string;
}

interface Cause {
  name: string;
  inner: string;
  host: string;
  /** Per step and device of the host. */
  timePs: number;
  percent: number | null;
}

export interface Budget {
  steps: readonly BudgetStep[];
  devices: readonly BudgetDevice[];
  parts: readonly Part[];
  /** The mean of all devices that take part. */
  decomposition: Decomposition;
  /** Of each device's average step, by id of the part and of between steps; empty if it takes part in no step. */
  averagePs: readonly ReadonlyMap<string, number>[];
  /** By step and device. */
  takesPart: readonly (readonly boolean[])[];
  /** By step, device and part. */
  timePs: readonly (readonly (readonly number[])[])[];
  /** Time between successive steps, by device and part. */
  betweenPs: readonly (readonly number[])[];
  causes: readonly Cause[];
  /** "device", "host", "inferred", "dispatch" or "recording"; null without devices. */
  source: string | null;
  largest: { part: string; percent: number } | null;
  notes: readonly string[];
}

function numbers(value: unknown, count: number, what: string): number[] {
  const list = asList(value, what);
  if (list.length !== count) throw badAnswer(`${what} do not have the expected length`);
  return list.map((one) => asNumber(one, what));
}

function readDevices(value: unknown): BudgetDevice[] {
  const devices = asList(value, "the devices").map((one) => {
    const device = asDict(one, "a device");
    return {
      name: asText(device["name"], "the name of a device"),
      host: asText(device["host"], "the host of a device"),
      kind: asText(device["kind"], "the kind of a device"),
    };
  });
  const several = new Set(devices.map(({ host }) => host)).size > 1;
  return devices.map((device) => ({ ...device, label: several ? `${device.host}: ${device.name}` : device.name }));
}

/** The parts in the order of the categories. */
function partsOf({ groups }: Decomposition): Part[] {
  return groups.flatMap((group) => group.parts.map((part) => ({ ...part, category: group.name })));
}

/** The table of averages, by device. */
function readAverages(value: unknown, devices: readonly BudgetDevice[]): Map<string, number>[] {
  const what = "the average steps";
  const table = asTable(value, what);
  const found = new Map(devices.map(({ label }) => [label, new Map<string, number>()]));
  if (table.rowCount === 0) return [...found.values()];
  const [names, ids] = [textsOf(table, "device", what), textsOf(table, "category", what)];
  const times = table.columns.find(({ id }) => id === "time_ps")?.values ?? [];
  names.forEach((name, row) => {
    const ps = times[row];
    if (typeof ps === "number" && Number.isFinite(ps)) found.get(name)?.set(ids[row] ?? "", ps);
  });
  return devices.map(({ label }) => found.get(label) ?? new Map<string, number>());
}

function readCause(value: unknown): Cause {
  const cause = asDict(value, "a cause");
  return {
    name: asText(cause["name"], "the name of a cause"),
    inner: asText(cause["inner"], "the event of a cause"),
    host: asText(cause["host"], "the host of a cause"),
    timePs: asNumber(cause["time_ps"], "the time of a cause"),
    percent: cause["percent"] === null ? null : asNumber(cause["percent"], "the share of a cause"),
  };
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readBudget(value: unknown): Budget {
  const budget = asDict(value, "the time budget");
  const devices = readDevices(budget["devices"]);
  const decomposition = readDecomposition(budget["decomposition"]);
  const parts = partsOf(decomposition);
  const ids = asList(budget["categories"], "the categories").map((one) => asText(one, "a category"));
  const order = parts.map(({ id }) => ids.indexOf(id));
  const steps = asList(budget["steps"], "the steps").map((one): BudgetStep => {
    const step = asDict(one, "a step");
    return {
      number: asNumber(step["number"], "the number of a step"),
      name: asText(step["name"], "the name of a step"),
      beginPs:
        step["device_begin_ps"] === undefined
          ? devices.map(() => asNumber(step["begin_ps"], "the begin of a step"))
          : numbers(step["device_begin_ps"], devices.length, "the begins of a step"),
      durationPs: numbers(step["duration_ps"], devices.length, "the durations of a step"),
    };
  });
  const times = asList(budget["time_ps"], "the times");
  if (times.length !== steps.length) throw badAnswer("the times do not have an entry per step");
  const byDevice = (entry: unknown): number[][] => {
    const rows = asList(entry, "the times of a step");
    if (rows.length !== devices.length) throw badAnswer("the times of a step do not have an entry per device");
    return rows.map((row) => {
      const times = numbers(row, ids.length, "the parts of a step");
      return order.map((place) => times[place] ?? 0);
    });
  };
  const between = asDict(budget["between"] ?? { time_ps: [] }, "the time between steps");
  const largest = budget["largest"] === null || budget["largest"] === undefined ? null : asDict(budget["largest"], "the largest part");
  return {
    steps,
    devices,
    parts,
    decomposition,
    averagePs: readAverages(budget["average"], devices),
    takesPart: asList(budget["takes_part"], "who takes part").map((row) =>
      asList(row, "who takes part in a step").map((one) => one === true),
    ),
    timePs: times.map(byDevice),
    betweenPs: byDevice(between["time_ps"]),
    causes: asList(budget["causes"] ?? [], "the causes").map(readCause),
    source: typeof budget["steps_from"] === "string" ? budget["steps_from"] : null,
    largest: largest && {
      part: asText(largest["category"], "the largest part"),
      percent: asNumber(largest["percent"], "the share of the largest part"),
    },
    notes: asList(budget["notes"] ?? [], "the notes").map((note) => asText(note, "a note")),
  };
}
