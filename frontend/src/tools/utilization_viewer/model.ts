// Samples of counters and the units of each core, from the table of the utilization viewer. Pure.
import { numbersOf, textsOf } from "../../api/payload/fields";
import { formatBytes, formatCount, formatPercent, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";

const WHAT = "the table of units";

/** A sample is one reading of the counters; devices that are read together use the same id and name. */
export interface Sample {
  key: string;
  id: number;
  name: string;
  rows: readonly number[];
}

export interface Bar {
  /** 0 to 1; null without a peak. */
  share: number | null;
  /** "50 of 200 instructions". */
  amount: string;
}

/** Units of one kind of place, such as TensorCores: a row per unit, a column per place. */
export interface Group {
  title: string;
  help: string;
  columns: readonly string[];
  units: readonly { name: string; bars: readonly (Bar | null)[] }[];
  /** Columns that are left out of the drawing. */
  more: number;
}

/** More columns than this are in the table only. */
export const MOST_COLUMNS = 16;

const TENSOR = "TensorCores";
const SHARED = "Memory and interconnect";
const SPARSE = "SparseCores";
const HELP: Record<string, string> = {
  [TENSOR]:
    "Work that the counters counted over what the unit could do in the counted cycles.\n" +
    "A scalar or vector instruction counts as one cycle; MXU cycles are instructions times a fixed number of cycles.\n" +
    "Source: performance counters.",
  [SHARED]:
    "Bytes over what memory and links could move in the counted cycles; read and write ratios are parts of all bytes.\nSource: performance counters.",
  [SPARSE]: "Issued instructions over the cycles of all tiles, and of the sequencer (SCS).\nSource: performance counters.",
};
/** Units whose share of the peak says how well the chip is used, not how it idles. */
const BUSY = new Set([
  "Scalar Unit",
  "Vector ALUs",
  "VPU Utilization",
  "Vmem Stores",
  "Vmem Loads",
  "Avg MXU Busy",
  "Avg XLU Busy",
  "ICI (Read)",
  "ICI (Write)",
  "TEC Scalar Issue",
  "SC Vector Issue",
  "SCS Scalar Issue",
]);
const MEMORY = "HBM Rd+Wr";
const MXU = "Avg MXU Busy";

/** The samples of a table in the order of its rows. */
export function samplesOf(table: TableData): Sample[] {
  const ids = numbersOf(table, "sample", WHAT);
  const names = textsOf(table, "kernel", WHAT);
  const samples = new Map<string, { id: number; name: string; rows: number[] }>();
  ids.forEach((id, row) => {
    const name = names[row] ?? "";
    const key = `${name} #${id}`;
    const sample = samples.get(key) ?? { id, name, rows: [] };
    sample.rows.push(row);
    samples.set(key, sample);
  });
  return [...samples].map(([key, sample]) => ({ key, ...sample }));
}

const kindOf = (name: string): string => (/^(HBM|ICI)/.test(name) ? SHARED : /^(TEC|SC|SCS)\b/.test(name) ? SPARSE : TENSOR);

function amount(done: number, peak: number, unit: string): string {
  return unit === "bytes" || unit === "percent"
    ? `${formatBytes(done)} of ${formatBytes(peak)}`
    : `${formatCount(done)} of ${formatCount(peak)} ${unit}`;
}

/** The units of a sample, drawn side by side for every host, device and core. */
export function groupsOf(table: TableData, sample: Sample): Group[] {
  const [devices, nodes] = [numbersOf(table, "device", WHAT), numbersOf(table, "node", WHAT)];
  const [achieved, peaks] = [numbersOf(table, "achieved", WHAT), numbersOf(table, "peak", WHAT)];
  const [names, units, hosts] = [textsOf(table, "name", WHAT), textsOf(table, "unit", WHAT), textsOf(table, "host", WHAT)];
  const several = new Set(hosts).size > 1;
  return [TENSOR, SHARED, SPARSE].flatMap((title) => {
    const rows = sample.rows.filter((row) => kindOf(names[row] ?? "") === title);
    if (rows.length === 0) return [];
    const place = (row: number): string => {
      const device = `${several ? `${hosts[row]} ` : ""}device ${devices[row]}`;
      return title === SHARED ? device : `${device}, core ${nodes[row]}`;
    };
    const all = [...new Set(rows.map(place))];
    const columns = all.slice(0, MOST_COLUMNS);
    // What a chip shares is listed once per core: of equal rows the last one is drawn.
    const cells = new Map(rows.map((row) => [`${unitOf(names, nodes, row)}\n${place(row)}`, row]));
    const bar = (row: number): Bar => {
      const [done, peak, unit] = [achieved[row] ?? 0, peaks[row] ?? 0, units[row] ?? ""];
      return { share: peak > 0 ? done / peak : null, amount: amount(done, peak, unit) };
    };
    const unitNames = [...new Set(rows.map((row) => unitOf(names, nodes, row)))];
    const drawn = unitNames.map((name) => ({
      name,
      bars: columns.map((column) => {
        const row = cells.get(`${name}\n${column}`);
        return row === undefined ? null : bar(row);
      }),
    }));
    return [{ title, help: HELP[title] ?? "", columns, units: drawn, more: all.length - columns.length }];
  });
}

/** The name of a row; ratios of reads and writes belong to the memory of one core. */
function unitOf(names: readonly string[], nodes: readonly number[], row: number): string {
  const name = names[row] ?? "";
  return /^HBM (Read|Write)/.test(name) ? `${name} - core ${nodes[row]}` : name;
}

export interface Headline {
  title: string;
  sentences: string[];
}

/** The unit that is nearest to its peak, over all cores of a sample, and how busy the matrix units are. */
export function headline(table: TableData, sample: Sample): Headline {
  const [achieved, peaks] = [numbersOf(table, "achieved", WHAT), numbersOf(table, "peak", WHAT)];
  const names = textsOf(table, "name", WHAT);
  const sums = new Map<string, { done: number; peak: number }>();
  for (const row of sample.rows) {
    const name = (names[row] ?? "").startsWith(MEMORY) ? MEMORY : (names[row] ?? "");
    if (!BUSY.has(name) && name !== MEMORY) continue;
    const sum = sums.get(name) ?? { done: 0, peak: 0 };
    sums.set(name, { done: sum.done + (achieved[row] ?? 0), peak: sum.peak + (peaks[row] ?? 0) });
  }
  const shares = [...sums]
    .filter(([, { peak }]) => peak > 0)
    .map(([name, { done, peak }]) => ({ name, percent: (100 * done) / peak }))
    .sort((a, b) => b.percent - a.percent);
  const [first] = shares;
  if (!first || first.percent === 0)
    return {
      title: "The counters of this sample did not count",
      sentences: ["No cycles or no work were counted: the counters were off, or the chip did nothing."],
    };
  const mxu = shares.find(({ name }) => name === MXU);
  const sentences = mxu && mxu !== first ? [`The matrix units (MXU) were busy in ${formatPercent(mxu.percent)} of their cycles.`] : [];
  const next = shares.slice(1, 4).filter(({ name, percent }) => percent > 0 && name !== MXU);
  if (next.length) sentences.push(`Then: ${next.map(({ name, percent }) => `${name} ${formatPercent(percent)}`).join(", ")}.`);
  return { title: `${first.name} is nearest to its peak: ${formatPercent(first.percent)}`, sentences };
}

/** Text of a sample for the chooser. */
export const sampleNote = (table: TableData, { rows }: Sample): string => {
  const devices = new Set(rows.map((row) => `${textsOf(table, "host", WHAT)[row]} ${numbersOf(table, "device", WHAT)[row]}`));
  return plural(devices.size, "device");
};
