// Trend: the step over the runs of the logdir, since when it takes longer or shorter, and where.
import { useContext, useMemo, useRef } from "preact/hooks";
import { makeTrendApi } from "../../api/trend";
import type { TrendAnswer, TrendSeries } from "../../api/trend";
import { plural } from "../../base/format";
import { explain } from "../../page/failure/explain";
import type { PageModule, PageProps } from "../../page/page";
import { fileNameOf, storeAt, toolPatch } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { Chart } from "../../widgets/chart/chart";
import { Card } from "../../widgets/content/card";
import { download } from "../../widgets/content/download";
import { AddressContext, Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Picker } from "../../widgets/overlay/picker";
import { Loading } from "../../widgets/status/loading";
import { Panel } from "../../widgets/status/panel";
import { FitTable } from "../../widgets/table/fit_table";
import {
  againstBaseline,
  axesOf,
  axisLabels,
  changesTable,
  marksOf,
  partsChart,
  placeChart,
  readBaseline,
  remarksTable,
  remarksTitle,
  runsTable,
  stepChart,
  usualSeries,
  writeBaseline,
} from "./model";
import type { Baseline } from "./model";
import { useTrend } from "./use_trend";
import type { Following } from "./use_trend";
import "./page.css";

/** Keys of the address: series, axis, baseline, and steps with what all ops share. */
const [SERIES, AXIS, BASELINE, RAW] = ["series", "axis", "baseline", "raw"] as const;
/** Runs before the newest that a button proposes as a baseline. */
const USUAL = 10;

function TrendPage(page: PageProps) {
  const api = useMemo(() => makeTrendApi(page.client), [page.client]);
  const trend = useTrend(api);
  const { found, error } = trend;
  if (error !== null && found === null)
    return (
      <Panel {...explain(error, { tool: page.tool.id })}>
        <button type="button" class="button" onClick={trend.go}>
          Try again
        </button>
      </Panel>
    );
  if (found === null) return <Loading what="Looking up what is known of the runs" />;
  return (
    <div class="tool-page">
      <div class="tool-page-body trend">
        <ReadingLine trend={trend} />
        {found.unread ? <p>{plural(found.unread, "run")} had not been read when this report was saved.</p> : null}
        {found.series.length ? <Series page={page} found={found} /> : trend.reading ? null : <Nothing found={found} />}
        <Remarks page={page} found={found} />
      </div>
    </div>
  );
}

/** How many runs are known, and the button that stops reading or goes on. */
function ReadingLine({ trend: { listed, remaining, reading, error, stop, go } }: { trend: Following }) {
  if (remaining === 0 && error === null) return null;
  return (
    <div class="trend-reading" role="status">
      <progress max={listed} value={listed - remaining} aria-label="Runs read" />
      <span>
        {listed - remaining} of {plural(listed, "run")} read{reading ? "…" : ""}
      </span>
      {error === null ? null : <span class="trend-error">{explain(error, {}).title}</span>}
      <button type="button" class="button" onClick={reading ? stop : go}>
        {reading ? "Stop" : "Continue"}
      </button>
      <span class="dim">Each run is read once.</span>
    </div>
  );
}

function Nothing({ found: { remaining, runs } }: { found: TrendAnswer }) {
  const why = remaining
    ? `Not read yet: ${plural(remaining, "run")}.`
    : `None of ${plural(runs.run.length, "run")} has steps; the reasons are below.`;
  return (
    <Panel
      tone="empty"
      title="No run can be followed"
      why={why}
      todo={[remaining ? "Press Continue." : "Capture profiles with steps into this log directory."]}
    />
  );
}

function Remarks({ page, found: { runs } }: { page: PageProps; found: TrendAnswer }) {
  const table = useMemo(() => remarksTable(runs), [runs]);
  const store = useMemo(() => storeAt(page.state, "t3"), [page.state]);
  if (table.rowCount === 0) return null;
  const help = "Runs that are in no series, with the reasons, and what is odd about others.";
  return (
    <Card title={remarksTitle(runs)} help={help}>
      <FitTable data={table} most={280} fileName="trend_remarks" store={store} />
    </Card>
  );
}

/** The chosen series: that of the run in the address, else the one with most runs, unless the address names another. */
function Series({ page, found }: { page: PageProps; found: TrendAnswer }) {
  const { state } = page;
  const wanted = useKey(state, SERIES);
  const names = found.series.map(({ title, rows }, at) => ({ id: String(at + 1), note: plural(rows.length, "run"), title }));
  const chosen = found.series[Number(wanted) - 1] ? Number(wanted) - 1 : usualSeries(found, state.get("run"));
  const series = found.series[chosen];
  if (!series) return null;
  return (
    <>
      {names.length > 1 ? (
        <div class="trend-choice">
          <Picker
            label="Series"
            noun="series"
            choices={names.map(({ id, note, title }) => ({ id, note: `${title}, ${note}` }))}
            value={String(chosen + 1)}
            onChoose={(id) => state.set({ [SERIES]: id, [BASELINE]: null }, "push")}
          />
          <span>{series.title}</span>
        </div>
      ) : null}
      <Content page={page} found={found} series={series} />
    </>
  );
}

function Content({ page, found: { runs }, series }: { page: PageProps; found: TrendAnswer; series: TrendSeries }) {
  const { state } = page;
  const { go } = useContext(AddressContext);
  const body = useRef<HTMLDivElement>(null);
  const axes = axesOf(runs);
  const wanted = useKey(state, AXIS);
  const axis = axes.find(({ id }) => id === wanted) ?? { id: "run", name: "Run" };
  const adjusted = useKey(state, RAW) === null && series.is_adjusted;
  const baselineText = useKey(state, BASELINE);
  const names = useMemo(() => series.rows.map((row) => runs.run[row] ?? ""), [runs, series]);
  const baseline = useMemo(() => readBaseline(names, baselineText), [names, baselineText]);
  const labels = useMemo(() => axisLabels(runs, series, axis.id), [runs, series, axis.id]);
  const steps = useMemo(() => stepChart(series, labels, axis.name, adjusted), [series, labels, axis.name, adjusted]);
  const parts = useMemo(() => partsChart(series, labels, axis.name), [series, labels, axis.name]);
  const places = useMemo(() => series.places.map((one) => placeChart(one, labels, axis.name)), [series, labels, axis.name]);
  const marks = useMemo(() => marksOf(series, baseline), [series, baseline]);
  const changes = useMemo(() => changesTable(series, names), [series, names]);
  const table = useMemo(() => runsTable(runs, series), [runs, series]);
  const stores = useMemo(() => [storeAt(state, "t1"), storeAt(state, "t2")], [state]);
  const choose = (chosen: Baseline | null): void =>
    state.set({ [BASELINE]: chosen === null ? null : writeBaseline(names, chosen) }, "replace");
  /** Comparing needs both runs: a saved report has one of them. */
  const there = useMemo(() => new Set(page.base.choices.map(({ id }) => id)), [page.base.choices]);
  const comparing = (run = "", base = ""): Patch | null =>
    there.has(run) && there.has(base) ? toolPatch("compare", null, [SERIES, AXIS, BASELINE, RAW], { run, base }) : null;
  const compared = (index: number): Patch | null => comparing(names[index], names[index - 1]);
  const open = (index: number): void => {
    const to = compared(index);
    if (to) go(to, "push");
  };
  const picking = there.size > 1 ? { onPick: open, pickHint: "Click: compare with the run before" } : {};
  const picture = (): void => {
    const canvas = body.current?.querySelector<HTMLCanvasElement>("canvas");
    if (canvas) savePicture(canvas);
  };
  const [newest, ...earlier] = series.changes.toSorted((a, b) => b.index - a.index);
  const values = steps.line.values as readonly number[];
  const against = baseline && comparing(names.at(-1), names[baseline.to]);
  return (
    <>
      <SummaryBox tone={toneOf(series)} title={newest?.sentence ?? series.no_change}>
        <p>
          {newest ? <BothSides to={compared(newest.index)} /> : null} {series.about}
        </p>
        {series.reason ? <p>A series of its own: {series.reason}</p> : null}
        {earlier.length ? (
          <ul class="trend-changes" aria-label="Earlier changes">
            {earlier.map((change) => (
              <li key={`${change.index} ${change.kind}`}>
                {change.sentence} <BothSides to={compared(change.index)} />
              </li>
            ))}
          </ul>
        ) : null}
      </SummaryBox>
      <Card
        title="Step time"
        help={
          "Mean of the ordinary steps of each run, the oldest first; the axis may begin above 0. Vertical lines: changes, with their 95% intervals.\n" +
          "What all ops of a run share, as on a busier machine or at another clock, is taken away unless the button says otherwise.\n" +
          "Drag over runs to choose a baseline. A click compares a run with the one before it.\nSource: trace."
        }
        tools={
          <>
            <Picker
              label="Axis"
              noun="axis"
              choices={axes.map(({ name }) => ({ id: name }))}
              value={axis.name}
              onChoose={(name) => state.set({ [AXIS]: axes.find((one) => one.name === name)?.id ?? null }, "replace")}
            />
            {series.is_adjusted ? (
              <button
                type="button"
                class="button ghost"
                aria-pressed={!adjusted}
                data-tip="Times as they were recorded, with what all ops of a run share"
                onClick={() => state.set({ [RAW]: adjusted ? "1" : null }, "replace")}
              >
                As recorded
              </button>
            ) : null}
            <button type="button" class="button ghost" onClick={picture}>
              Save picture
            </button>
          </>
        }
      >
        <div class="trend-baseline" role="status">
          {baseline === null ? (
            <>
              <span class="dim">Drag over the chart to choose a baseline.</span>
              {names.length > 2 ? (
                <button
                  type="button"
                  class="button ghost"
                  onClick={() => choose({ from: Math.max(0, names.length - 1 - USUAL), to: names.length - 2 })}
                >
                  The {Math.min(USUAL, names.length - 1)} runs before the newest
                </button>
              ) : null}
            </>
          ) : (
            <>
              <span>{againstBaseline(names, values, baseline)}</span>
              {against ? <Link to={against}>Compare</Link> : null}
              <button type="button" class="button ghost" onClick={() => choose(null)}>
                Clear
              </button>
            </>
          )}
        </div>
        <div ref={body}>
          <Chart
            spec={steps}
            title=""
            fileName={fileNameOf("trend", "steps")}
            marks={marks}
            zoom={null}
            onZoom={(range) => choose(range && { from: range[0], to: range[1] })}
            {...picking}
            legend={false}
          />
        </div>
      </Card>
      {series.parts.length ? (
        <Card title="Parts of the step" help="Time per ordinary step by part of the time budget, as recorded.">
          <Chart spec={parts} title="" fileName={fileNameOf("trend", "parts")} height={220} {...picking} />
        </Card>
      ) : null}
      <Card
        title={series.changes.length ? "Places that changed" : "Places with most time"}
        help="Ops of one kind, or waits at one place of the program: time per step and device, as recorded. Axes may begin above 0."
      >
        <div class="trend-places">
          {places.map((spec, at) => (
            <section key={spec.line.name} aria-label={spec.line.name}>
              <h3 data-tip={spec.line.name}>{spec.line.name}</h3>
              <Chart
                spec={spec}
                title=""
                bare
                fileName={fileNameOf("trend", spec.line.name)}
                height={150}
                marks={series.places[at]?.changes.map((from) => ({ from, colour: null })) ?? []}
                {...picking}
              />
            </section>
          ))}
        </div>
      </Card>
      {changes.rowCount ? (
        <Card title="Changes" help="One row per change; opening a row compares the runs on both sides.">
          <FitTable
            data={changes}
            most={280}
            fileName="trend_changes"
            store={stores[0]}
            onOpen={there.size > 1 ? (row) => open(series.changes[row]?.index ?? 0) : undefined}
          />
        </Card>
      ) : null}
      <Card title="Runs" help="The runs of this series, the oldest first; opening a row compares it with the run before.">
        <FitTable data={table} most={420} fileName="trend_runs" store={stores[1]} onOpen={picking.onPick} />
      </Card>
    </>
  );
}

/** The way to the comparison of the two sides of a change, if both are there. */
function BothSides({ to }: { to: Patch | null }) {
  return to && <Link to={to}>Compare both sides</Link>;
}

function toneOf({ changes }: TrendSeries): "good" | "bad" | "none" {
  const last = changes.filter(({ kind, gone }) => kind === "step" && gone === null).at(-1)?.change_percent ?? 0;
  return last > 0 ? "bad" : last < 0 ? "good" : "none";
}

/** Saves what is drawn, on the colour of the page. */
function savePicture(drawn: HTMLCanvasElement): void {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [drawn.width, drawn.height];
  const context = canvas.getContext("2d");
  if (!context) return;
  context.fillStyle = getComputedStyle(drawn).getPropertyValue("--bg-raised") || "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(drawn, 0, 0);
  canvas.toBlob((blob) => blob && download("trend.png", blob));
}

const page: PageModule = { ids: ["trend"], Page: TrendPage, compares: true };
export default page;
