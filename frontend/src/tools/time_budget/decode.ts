// Decodes the time budget: parts of every step on every device, in picoseconds.
import { asDict, asList, asNumber, asText, badAnswer } from "../../api/payload/fields";

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

export interface Part {
  id: string;
  name: string;
  help: string;
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

function readParts(categories: unknown, labels: unknown): Part[] {
  const names = asDict(labels ?? {}, "the labels");
  return asList(categories, "the categories").map((one) => {
    const id = asText(one, "a category");
    const label = asDict(names[id] ?? {}, `the label of ${id}`);
    return { id, name: asText(label["name"] ?? id, `the name of ${id}`), help: asText(label["help"] ?? "", `the meaning of ${id}`) };
  });
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
  const parts = readParts(budget["categories"], budget["labels"]);
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
    return rows.map((row) => numbers(row, parts.length, "the parts of a step"));
  };
  const between = asDict(budget["between"] ?? { time_ps: [] }, "the time between steps");
  const largest = budget["largest"] === null || budget["largest"] === undefined ? null : asDict(budget["largest"], "the largest part");
  return {
    steps,
    devices,
    parts,
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
