// Memory over time with a choice of what is stacked; a click on a moment lists what lives there.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { StepsChart } from "../../base/chart/chart_spec";
import type { TableData } from "../../base/table/table_data";
import { Chart } from "../../widgets/chart/chart";
import { Card } from "../../widgets/content/card";
import { FitTable } from "../../widgets/table/fit_table";
import type { UrlState } from "../page";
import { storeAt } from "../page_state";

interface Props {
  state: UrlState;
  help: string;
  file: string;
  spec: StepsChart;
  /** What can be stacked, the first without a key in the address, and what is. */
  stacks: readonly { id: string; label: string }[];
  stack: string;
  /** The moments of the peak and of the list, on the axis of the chart. */
  peak: number;
  shown: number;
  onPick: (place: number) => void;
  /** What the list below is. */
  status: string;
  listTitle: string;
  live: TableData;
  /** Prefix of the keys of the list's table. */
  table: string;
  rowTools?: (row: number) => ComponentChildren;
}

export function Moments(props: Props) {
  const { state, file, stacks, stack, peak, shown } = props;
  const store = useMemo(() => storeAt(state, props.table), [state, props.table]);
  const marks = [{ from: peak, colour: null, label: "peak" }, ...(shown === peak ? [] : [{ from: shown, colour: null, label: "shown" }])];
  const tools = (
    <span class="segmented" role="group" aria-label="Stack by">
      {stacks.map(({ id, label }, i) => (
        <button key={id} type="button" aria-pressed={stack === id} onClick={() => state.set({ stack: i === 0 ? null : id }, "replace")}>
          {label}
        </button>
      ))}
    </span>
  );
  return (
    <Card title="Memory over time" help={props.help}>
      <Chart
        spec={props.spec}
        title=""
        tools={tools}
        fileName={`${file}_over_time`}
        height={230}
        marks={marks}
        onPick={props.onPick}
        pickHint="Click: list what lives here. Drag: zoom."
      />
      <p class="dim" role="status">
        {props.status}
      </p>
      <FitTable
        key={String(shown)}
        most={320}
        data={props.live}
        title={props.listTitle}
        fileName={`${file}_live`}
        store={store}
        {...(props.rowTools ? { rowTools: props.rowTools } : {})}
      />
    </Card>
  );
}
