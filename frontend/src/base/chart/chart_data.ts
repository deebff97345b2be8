// Computations on the data of a chart: its places, parts, sums and axis ranges.
import { formatQuantity, unitFactor } from "../format";
import { isNumeric } from "./chart_spec";
import type { CategoryChart, ChartSpec, Series, StackChart, StepsChart } from "./chart_spec";
import { lastAtMost } from "./search";

/** The places of a chart in the order in which the arrow keys visit them. */
export function places(spec: ChartSpec): readonly number[] {
  const upTo = (length: number): number[] => Array.from({ length }, (_, i) => i);
  switch (spec.kind) {
    case "pie":
      return upTo(spec.slices.length);
    case "blocks":
      return upTo(spec.blocks.length);
    case "treemap":
      return spec.groups.flatMap(({ tiles }) => tiles.map(({ place }) => place));
    case "steps": {
      const first = Math.max(0, lastAtMost(spec.at, spec.x.from));
      return upTo(lastAtMost(spec.at, spec.x.to) + 1 - first).map((i) => first + i);
    }
    case "scatter":
      return spec.series
        .flatMap(({ points }) => points)
        .sort((a, b) => a.x - b.x)
        .map(({ place }) => place);
    case "stack":
    case "band":
    case "bars":
      return upTo(spec.x.labels.length);
  }
}

/** Whether the chart can be zoomed by a drag along x. */
export function zoomable(spec: ChartSpec): boolean {
  if (spec.kind === "steps" || spec.kind === "blocks") return true;
  return (spec.kind === "stack" || spec.kind === "band") && spec.x.labels.length > 2;
}

/** The part of a chart between two labels (indexes) or two numbers of x. */
export function zoomed(spec: ChartSpec, [from, to]: readonly [number, number]): ChartSpec {
  if (spec.kind === "steps") return { ...spec, x: { ...spec.x, from, to } };
  if (spec.kind === "blocks") return { ...spec, x: { ...spec.x, from, to } };
  return isNumeric(spec) ? spec : cut(spec, from, to);
}

/** The labels `from` to `to`, inclusive; a pie is not cut. */
export function cut(spec: CategoryChart, from: number, to: number): CategoryChart {
  const part = <T>(values: readonly T[]): T[] => values.slice(from, to + 1);
  const series = (one: Series): Series => ({ ...one, values: part(one.values) });
  switch (spec.kind) {
    case "pie":
      return spec;
    case "stack":
      return { ...spec, x: { ...spec.x, labels: part(spec.x.labels) }, series: spec.series.map(series) };
    case "bars":
      return { ...spec, x: { ...spec.x, labels: part(spec.x.labels) }, values: part(spec.values) };
    case "band":
      return {
        ...spec,
        x: { ...spec.x, labels: part(spec.x.labels) },
        line: series(spec.line),
        ...(spec.low ? { low: part(spec.low) } : {}),
        ...(spec.high ? { high: part(spec.high) } : {}),
      };
  }
}

/** A chart without some of its series; charts without a legend are returned as they are. */
export function withoutSeries(spec: ChartSpec, names: ReadonlySet<string>): ChartSpec {
  if (names.size === 0) return spec;
  const kept = <T extends { name: string }>(series: readonly T[]): T[] => series.filter(({ name }) => !names.has(name));
  if (spec.kind === "stack") return { ...spec, series: kept(spec.series) };
  if (spec.kind === "steps") return { ...spec, series: kept(spec.series) };
  return spec.kind === "scatter" ? { ...spec, series: kept(spec.series) } : spec;
}

/** Series with any value other than 0, so that the legend lists no empty ones. */
export function filledSeries(series: readonly Series[]): Series[] {
  return series.filter(({ values }) => values.some((value) => value !== null && value !== 0));
}

const sum = (values: readonly (number | null | undefined)[]): number => values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** Sum of the series at one place. */
export function totalAt(spec: StackChart, place: number): number {
  return sum(spec.series.map((one) => one.values[place]));
}

/** The most readable unit of an axis up to `most`, and the factor to it. */
export function axisUnit(most: number, unit: string | null): { unit: string | null; factor: number } {
  if (!unit || !(most > 0)) return { unit, factor: 1 };
  const shown = /[^\d.,e+-].*$/.exec(formatQuantity(most, unit))?.[0].trim() ?? unit;
  const factor = unitFactor(unit, shown);
  return factor === null ? { unit, factor: 1 } : { unit: shown, factor };
}

/** The largest value that the y axis must hold. */
export function largest(spec: CategoryChart | StepsChart): number {
  switch (spec.kind) {
    case "steps": {
      const left = spec.series.filter(({ right }) => !right);
      const areas = left.filter(({ draw }) => draw === "area");
      const lines = left.filter(({ draw }) => draw === "line");
      return spec.at.reduce(
        (most, _, i) => Math.max(most, sum(areas.map(({ values }) => values[i])), ...lines.map(({ values }) => values[i] ?? 0)),
        0,
      );
    }
    case "pie":
      return sum(spec.slices.map((slice) => slice.value));
    case "stack":
      return spec.x.labels.reduce((most, _, place) => Math.max(most, totalAt(spec, place)), 0);
    case "bars":
      return spec.values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
    case "band":
      return [...(spec.high ?? []), ...spec.line.values].reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  }
}
