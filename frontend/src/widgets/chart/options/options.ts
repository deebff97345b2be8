// ECharts options from the data of a chart. Pure.
import type { EChartsCoreOption } from "echarts/core";
import type { ChartSpec } from "../../../base/chart/chart_spec";
import type { ChartStyle } from "../style";
import { blocksOption, treemapOption } from "./blocks";
import { bandOption, barsOption, pieOption, stackOption } from "./category";
import { scatterOption } from "./scatter";
import { stepsOption } from "./steps";

export function optionOf(spec: ChartSpec, style: ChartStyle): EChartsCoreOption {
  switch (spec.kind) {
    case "stack":
      return stackOption(spec, style);
    case "band":
      return bandOption(spec, style);
    case "bars":
      return barsOption(spec, style);
    case "pie":
      return pieOption(spec, style);
    case "steps":
      return stepsOption(spec, style);
    case "scatter":
      return scatterOption(spec, style);
    case "blocks":
      return blocksOption(spec, style);
    case "treemap":
      return treemapOption(spec, style);
  }
}
