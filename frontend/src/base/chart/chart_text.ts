// A chart as text: its table, a sentence, and the tip of one place.
import { formatPercent, formatQuantity, plural } from "../format";
import { makeTable, numberColumn, textColumn } from "../table/columns";
import type { TableColumn, TableData } from "../table/table_data";
import { largest, places, totalAt } from "./chart_data";
import { isNumeric } from "./chart_spec";
import type { ChartSpec, Tip, TipLine } from "./chart_spec";

const text = (id: string, label: string, values: readonly string[]): TableColumn => textColumn(id, label, null, values);
const numbers = (id: string, label: string, unit: string | null, values: readonly (number | null)[]): TableColumn =>
  numberColumn(id, label, unit, null, values);

/** The same data as a table. */
export function tableOf(spec: ChartSpec): TableData {
  if (isNumeric(spec)) return spec.table();
  switch (spec.kind) {
    case "pie": {
      const total = largest(spec);
      const values = spec.slices.map((slice) => slice.value);
      return makeTable([
        text(
          "name",
          "Name",
          spec.slices.map((slice) => slice.name),
        ),
        numbers("value", spec.name, spec.unit, values),
        numbers(
          "share",
          "Share",
          "fraction",
          values.map((value) => (total > 0 ? value / total : null)),
        ),
      ]);
    }
    case "stack": {
      const total =
        spec.total === undefined
          ? []
          : [
              numbers(
                "total",
                spec.total,
                spec.y.unit,
                spec.x.labels.map((_, place) => totalAt(spec, place)),
              ),
            ];
      return makeTable([
        text("x", spec.x.name, spec.x.labels),
        ...spec.series.map((one, i) => numbers(`s${i}`, one.name, spec.y.unit, one.values)),
        ...total,
      ]);
    }
    case "bars":
      return makeTable([text("x", spec.x.name, spec.x.labels), numbers("y", spec.y.name, spec.y.unit, spec.values)]);
    case "band":
      return makeTable([
        text("x", spec.x.name, spec.x.labels),
        numbers("y", spec.line.name, spec.y.unit, spec.line.values),
        ...(spec.low ? [numbers("low", "Minimum", spec.y.unit, spec.low)] : []),
        ...(spec.high ? [numbers("high", "Maximum", spec.y.unit, spec.high)] : []),
      ]);
  }
}

/** One sentence for screen readers. */
export function sentence(spec: ChartSpec): string {
  if (isNumeric(spec)) return spec.sentence;
  const count = places(spec).length;
  const most = formatQuantity(largest(spec), spec.kind === "pie" ? spec.unit : spec.y.unit);
  switch (spec.kind) {
    case "pie":
      return `${spec.name}: ${plural(count, "slice")}, ${most} together.`;
    case "stack":
      return `${spec.y.name} by ${spec.x.name.toLowerCase()}: ${plural(count, "bar")} of ${plural(spec.series.length, "part")}, at most ${most}.`;
    case "bars":
      return `${spec.y.name} by ${spec.x.name.toLowerCase()}: ${plural(count, "bar")}, at most ${most}.`;
    case "band":
      return `${spec.line.name} by ${spec.x.name.toLowerCase()}: ${plural(count, "point")}, at most ${most}.`;
  }
}

const percent = (value: number, total: number): string => (total > 0 ? ` (${formatPercent((100 * value) / total)})` : "");

/** The tip of a place: all its parts, largest first, with units; null where there is none. */
export function tipOf(spec: ChartSpec, index: number): Tip | null {
  if (isNumeric(spec)) return spec.tip(index);
  if (spec.kind === "pie") {
    const slice = spec.slices[index];
    const total = spec.slices.reduce((all, { value }) => all + value, 0);
    if (!slice) return null;
    return {
      title: slice.name,
      lines: [{ name: spec.name, text: formatQuantity(slice.value, spec.unit) + percent(slice.value, total), colour: slice.colour }],
    };
  }
  const label = spec.x.labels[index];
  if (label === undefined) return null;
  if (spec.kind === "bars")
    return { title: label, lines: [{ name: spec.y.name, text: formatQuantity(spec.values[index], spec.y.unit), colour: spec.colour }] };
  const title = label.toLowerCase().includes(spec.x.name.toLowerCase()) ? label : `${spec.x.name} ${label}`;
  const { unit } = spec.y;
  if (spec.kind === "band") {
    const line = { name: spec.line.name, text: formatQuantity(spec.line.values[index], unit), colour: spec.line.colour };
    if (!spec.low || !spec.high) return { title, lines: [line] };
    const text = `${formatQuantity(spec.low[index], unit)} to ${formatQuantity(spec.high[index], unit)}`;
    return { title, lines: [line, { name: "Range", text, colour: null }] };
  }
  const total = totalAt(spec, index);
  const parts = spec.series
    .map(({ name, colour, values, striped }) => ({ name, colour, striped: striped ?? false, value: values[index] ?? null }))
    .sort((a, b) => (b.value ?? -1) - (a.value ?? -1))
    .map(({ value, ...part }): TipLine => ({ ...part, text: formatQuantity(value, unit) + (value === null ? "" : percent(value, total)) }));
  const sum: TipLine[] = spec.total === undefined ? [] : [{ name: spec.total, text: formatQuantity(total, unit), colour: null }];
  return { title, lines: [...sum, ...parts] };
}

/** A tip as one line, for screen readers. */
export function tipText({ title, lines }: Tip): string {
  return `${title}: ${lines.map(({ name, text }) => `${name} ${text}`).join(", ")}`;
}
