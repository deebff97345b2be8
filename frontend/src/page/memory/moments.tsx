// The timeline of a memory with a choice of what is stacked, and the table of what lives at a moment.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Mark, StepsChart } from "../../base/chart/chart_spec";
import type { TableData } from "../../base/table/table_data";
import { Chart } from "../../widgets/chart/chart";
import { Card } from "../../widgets/content/card";
import { FitTable } from "../../widgets/table/fit_table";
import type { UrlState } from "../page";
import { storeAt } from "../page_state";
import { emptyColumns, hiding } from "../../base/table/transform";

interface Props {
  state: UrlState;
  title: string;
  help: string;
  file: string;
  spec: StepsChart;
  /** What can be stacked, the first without a key in the address, and what is. */
  stacks: readonly { id: string; label: string }[];
  stack: string;
  marks: readonly Mark[];
  startHidden?: readonly string[];
  zoom?: readonly [number, number] | null;
  onZoom?: (zoom: readonly [number, number] | null) => void;
  onPick?: ((place: number) => void) | undefined;
  /** Between chart and table. */
  children?: ComponentChildren;
  /** Null where the page has it elsewhere. */
  table: {
    /** Differs for every moment. */
    key: string;
    title: string;
    data: TableData;
    /** Prefix of its keys in the address. */
    store: string;
    rowTools?: (row: number) => ComponentChildren;
  } | null;
}

type SwitchProps = Pick<Props, "state" | "stacks" | "stack">;

/** Chooses what is stacked. */
export function StackSwitch({ state, stacks, stack }: SwitchProps) {
  return (
    <span class="segmented" role="group" aria-label="Stack by">
      {stacks.map(({ id, label }, i) => (
        <button key={id} type="button" aria-pressed={stack === id} onClick={() => state.set({ stack: i === 0 ? null : id }, "replace")}>
          {label}
        </button>
      ))}
    </span>
  );
}

export function Moments({ state, stacks, stack, onPick, table, ...props }: Props) {
  const store = useMemo(
    () => hiding(storeAt(state, table?.store ?? ""), table === null ? [] : emptyColumns(table.data)),
    [state, table?.store, table?.data],
  );
  return (
    <Card title={props.title} help={props.help}>
      <Chart
        key={stack}
        spec={props.spec}
        title=""
        tools={<StackSwitch state={state} stacks={stacks} stack={stack} />}
        fileName={`${props.file}_timeline`}
        height={230}
        marks={props.marks}
        {...(props.onZoom ? { zoom: props.zoom ?? null, onZoom: props.onZoom } : {})}
        startHidden={props.startHidden ?? []}
        onPick={onPick}
        pickHint={onPick ? "Click: list what lives here. Drag: zoom." : "Drag: zoom. Right click or Escape: show all."}
      />
      {props.children}
      {table === null ? null : (
        <FitTable
          key={table.key}
          most={320}
          data={table.data}
          title={table.title}
          fileName={`${props.file}_live`}
          store={store}
          {...(table.rowTools ? { rowTools: table.rowTools } : {})}
        />
      )}
    </Card>
  );
}
