// The parts of ECharts that we use; a chunk of its own, loaded with the first chart.
import { BarChart, LineChart, PieChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([BarChart, LineChart, PieChart, GridComponent, TooltipComponent, CanvasRenderer]);

export { init };
