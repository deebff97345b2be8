// Kernels and the utilization of their units: decoding, headline, tables. Pure.
import { asDict, asList, asNumber, asText } from "../../api/payload/fields";
import { formatPercent, plural } from "../../base/format";
import type { Cell, TableColumn, TableData } from "../../base/table/table_data";

export interface Kernel {
  name: string;
  host: string;
  device: number;
  deviceType: string;
  sample: number | null;
  durationUs: number;
  mxu: number;
  anomaly: boolean;
  precisions: readonly { name: string; percent: number }[];
  others: readonly { name: string; percent: number }[];
}

const shares = (value: unknown, what: string): { name: string; percent: number }[] =>
  Object.entries(asDict(value, what)).map(([name, percent]) => ({ name, percent: asNumber(percent, `${what}, ${name}`) }));

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readKernels(value: unknown): Kernel[] {
  return asList(asDict(value, "the kernels")["devices"], "the devices").flatMap((one) => {
    const device = asDict(one, "a device");
    return asList(device["kernels"], "the kernels of a device").map((kernel) => {
      const fields = asDict(kernel, "a kernel");
      return {
        name: asText(fields["kernel_name"], "the name of a kernel"),
        host: asText(device["host"] ?? "", "the host of a device"),
        device: asNumber(device["device_id"], "the id of a device"),
        deviceType: asText(device["device_type"], "the type of a device"),
        sample: fields["sample"] === undefined ? null : asNumber(fields["sample"], "the sample of a kernel"),
        durationUs: asNumber(fields["duration_us"], "the duration of a kernel"),
        mxu: asNumber(fields["mxu_utilization"], "the utilization of a kernel"),
        anomaly: fields["mxu_is_anomaly"] === true,
        precisions: shares(fields["mxu_cycles_breakdown"], "the operands of a kernel"),
        others: shares(fields["other_metrics"], "the units of a kernel"),
      };
    });
  });
}

/** The kernel that uses the matrix units least among those that take the most time. */
export function headline(kernels: readonly Kernel[]): { title: string; sentences: string[] } {
  const longest = kernels.reduce((best, kernel) => (kernel.durationUs > best.durationUs ? kernel : best), kernels[0] as Kernel);
  const mean = kernels.reduce((sum, { mxu }) => sum + mxu, 0) / kernels.length;
  const wrong = kernels.filter(({ anomaly }) => anomaly);
  const [busiest] = longest.others
    .filter(({ name }) => !/^(No|1|2) |Ratio|Clocks Skipped/.test(name))
    .sort((a, b) => b.percent - a.percent);
  const sentences = [`${plural(kernels.length, "kernel")}; matrix units (MXU) busy in ${formatPercent(mean)} of their cycles on average.`];
  if (busiest && busiest.percent > 0)
    sentences.push(`Nearest to its peak in the longest kernel: ${busiest.name}, ${formatPercent(busiest.percent)}.`);
  if (wrong.length)
    sentences.push(
      `More than 100% busy, which cannot be: ${wrong
        .slice(0, 3)
        .map(({ name }) => name)
        .join(", ")}. The counters of cycles and of the MXU cover different times.`,
    );
  return { title: `${longest.name} keeps the matrix units busy ${formatPercent(longest.mxu)} of the time`, sentences };
}

function column(id: string, label: string, kind: TableColumn["kind"], unit: string | null, help: string, values: Cell[]): TableColumn {
  return { id, label, kind, unit, help, values };
}

const ANOMALY = "More than 100%: the counters of cycles and of the MXU cover different times.";

/** One row per kernel; a column for every unit that a kernel has. */
export function tableOf(kernels: readonly Kernel[]): TableData {
  const units = [...new Set(kernels.flatMap(({ others }) => others.map(({ name }) => name)))].sort();
  const precisions = [...new Set(kernels.flatMap((kernel) => kernel.precisions.map(({ name }) => name)))];
  const valueOf = (list: Kernel["others"], name: string): number | null => list.find((one) => one.name === name)?.percent ?? null;
  const columns = [
    column(
      "kernel_name",
      "Kernel",
      "string",
      null,
      "Name of the line of counters, else the first op of the device.",
      kernels.map(({ name }) => name),
    ),
    column(
      "host",
      "Host",
      "string",
      null,
      "Host of the device.",
      kernels.map(({ host }) => host),
    ),
    column(
      "device_id",
      "Device",
      "number",
      null,
      "Id of the device.",
      kernels.map(({ device }) => device),
    ),
    column(
      "device_type",
      "Type",
      "string",
      null,
      "Type of the device.",
      kernels.map(({ deviceType }) => deviceType),
    ),
    column(
      "sample",
      "Sample",
      "number",
      null,
      "Id of the line of counters.",
      kernels.map(({ sample }) => sample),
    ),
    column(
      "duration_us",
      "Duration",
      "number",
      "us",
      "Longest event of the line of counters.",
      kernels.map(({ durationUs }) => durationUs),
    ),
    {
      ...column(
        "mxu_utilization",
        "MXU busy",
        "number",
        "%",
        "Cycles in which the matrix units were busy, of all cycles; one of two busy counts half.",
        kernels.map(({ mxu }) => mxu),
      ),
      doubts: kernels.map(({ anomaly }) => (anomaly ? ANOMALY : null)),
    },
    ...precisions.map((name) =>
      column(
        `precision_${name}`,
        name,
        "number",
        "%",
        `Cycles of the matrix units with ${name} operands, of their cycles with any.`,
        kernels.map((kernel) => valueOf(kernel.precisions, name)),
      ),
    ),
    ...units.map((name) =>
      column(
        `unit_${name}`,
        name,
        "number",
        "%",
        `${name}, in percent of its peak, all cores together; 100 at most.`,
        kernels.map((kernel) => valueOf(kernel.others, name)),
      ),
    ),
  ];
  return { columns, rowCount: kernels.length, properties: {} };
}

/** Columns that are the same in all rows or empty, and the many units: they are drawn beside the table. */
export function hiddenColumns(table: TableData): string[] {
  return table.columns
    .filter(
      ({ id, values }) =>
        (id.startsWith("unit_") && values.every((value) => value === null || value === 0)) || (id === "host" && new Set(values).size < 2),
    )
    .map(({ id }) => id);
}
