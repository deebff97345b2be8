// A pie chart with a list of names, shares and amounts; a click on a name or a slice picks it.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { tableOf } from "../../base/chart/chart_text";
import type { PieChart } from "../../base/chart/chart_spec";
import { formatPercent, formatTogether } from "../../base/format";
import { isTyping, keyName } from "../../base/keys";
import { Chart } from "./chart";
import { swatchStyle } from "./style";
import { useTheme } from "./use_theme";
import { Table } from "../table/table";
import "./pie_list.css";

interface Props {
  spec: PieChart;
  title: string;
  fileName: string;
  height?: number;
  /** Called for a click on a slice; without it slices cannot be picked. */
  onPick?: (place: number) => void;
  canPick?: (place: number) => boolean;
  pickHint?: string;
  tools?: ComponentChildren;
}

export function PieList({ spec, title, fileName, height = 168, onPick, canPick = () => true, pickHint, tools }: Props) {
  const theme = useTheme();
  const [asTable, setAsTable] = useState(false);
  const table = useMemo(() => (asTable ? tableOf(spec) : null), [asTable, spec]);
  const format = formatTogether(
    spec.slices.map(({ value }) => value),
    spec.unit,
  );
  const total = spec.slices.reduce((all, { value }) => all + value, 0);
  const pick = (place: number): void => {
    if (onPick && canPick(place)) onPick(place);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (keyName(event) !== "t" || isTyping(event.target)) return;
    setAsTable(!asTable);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class={asTable ? "pie-list as-table" : "pie-list"} role="group" aria-label={title} onKeyDownCapture={onKey}>
      <header class="pie-list-head">
        <h3>{title}</h3>
        <span class="pie-list-space" />
        {tools}
        <button
          type="button"
          class="button ghost"
          aria-pressed={asTable}
          data-tip="The same data as a table (key t)"
          onClick={() => setAsTable(!asTable)}
        >
          {asTable ? "Chart" : "Table"}
        </button>
      </header>
      <div class="pie-list-body">
        {table ? (
          <div style={{ height: `${Math.max(220, height)}px` }}>
            <Table data={table} fileName={fileName} />
          </div>
        ) : (
          <>
            <Chart
              spec={spec}
              title={title}
              fileName={fileName}
              height={height}
              bare
              onPick={onPick ? pick : undefined}
              {...(pickHint ? { pickHint } : {})}
            />
            <ul>
              {spec.slices.map(({ name, full = name, value, colour }, place) => {
                const inside = (
                  <>
                    <i class="swatch" style={swatchStyle(colour, theme)} />
                    <b>{name}</b>
                    <span class="number">{total > 0 ? formatPercent((100 * value) / total) : ""}</span>
                    <span class="number dim">{format(value)}</span>
                  </>
                );
                const tip = [full, onPick && canPick(place) ? pickHint : ""].filter(Boolean).join("\n");
                return (
                  <li key={name}>
                    {onPick && canPick(place) ? (
                      <button type="button" data-tip={tip} onClick={() => pick(place)}>
                        {inside}
                      </button>
                    ) : (
                      <span data-tip={tip}>{inside}</span>
                    )}
                  </li>
                );
              })}
            </ul>
          </>
        )}
      </div>
    </section>
  );
}
