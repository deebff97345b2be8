// Memory over time by kind or source line, what lives at a moment, and whether a larger batch fits.
import { useMemo, useState } from "preact/hooks";
import { Moments } from "../../../page/memory/moments";
import type { PageProps } from "../../../page/page";
import { sourceLink } from "../../../page/source_link";
import { useKey } from "../../../page/use_key";
import { explain } from "../../../page/failure/explain";
import { formatBytes, formatExact, plural } from "../../../base/format";
import { documentOf } from "../../../api/client";
import { columnOf, textsOf } from "../../../api/payload/fields";
import { Card } from "../../../widgets/content/card";
import { useLoad } from "../../../widgets/status/use_load";
import type { ProgramMemoryOverTime } from "../../../base/documents";
import { STACKS, fitSentence, overTimeChart, peakAt, toggled } from "./model";
import type { Stack } from "./model";

const TOOL = "memory_over_time";
const SHOWN_ASSUMPTIONS = 12;
const TITLES = { timeline: "Memory over the program order", fit: "Does it fit?" } as const;

interface Props {
  page: PageProps;
  module: string;
  /** Query keys that are not kept when another tool is opened. */
  own: readonly string[];
  file: string;
  /** The timeline, or the prediction for other batches. */
  part: "timeline" | "fit";
}

export function OverTime({ page, module, own, file, part }: Props) {
  const { run, host, client, state } = page;
  const [instant, fixed, scaled] = [useKey(state, "instant"), useKey(state, "fixed"), useKey(state, "scaled")];
  const params = {
    run,
    host: host ?? undefined,
    module_name: module,
    instant: instant ?? undefined,
    fixed: fixed ?? undefined,
    scaled: scaled ?? undefined,
  };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, TOOL, params, { signal }));
  const [kept, keep] = useState<ProgramMemoryOverTime | null>(null);
  if (answer.data !== null && answer.data !== kept) keep(answer.data);
  // The answer before stays until the next one is there, so that nothing jumps.
  const found = answer.data ?? (kept?.program === module || kept?.program.startsWith(module) ? kept : null);
  const why = answer.error === null ? null : explain(answer.error, { run, tool: TOOL }).why;
  if (found === null && why !== null)
    return (
      <Card title={TITLES[part]}>
        <p class="dim">{why}</p>
      </Card>
    );
  if (found === null)
    return (
      <Card title={TITLES[part]}>
        <p class="dim">Reading the life of the buffers…</p>
      </Card>
    );
  return (
    <>
      {why === null ? null : (
        <p class="dim" role="status">
          The chosen moment or assumption is not shown: {why}
        </p>
      )}
      {part === "timeline" ? (
        <ProgramMoments page={page} found={found} own={own} file={file} module={module} />
      ) : (
        <Fit page={page} found={found} />
      )}
    </>
  );
}

/** The choices of the timeline: the size alone is a chart of the page. */
export const CHOICES = [
  { id: "size", label: "Size" },
  { id: "category", label: "By kind" },
  { id: "line", label: "By line" },
] as const;

function ProgramMoments({ page: { state, host }, found, own, file, module }: Omit<Props, "part"> & { found: ProgramMemoryOverTime }) {
  const stacked = useKey(state, "stack");
  const by: Stack = STACKS.find((one) => one === stacked) ?? "category";
  const spec = useMemo(() => overTimeChart(found, by), [found.shown, found.categories, found.lines, by]);
  const sources = textsOf(found.live, "source", "the table of live buffers");
  const atPeak = found.instant === found.peak;
  const where = atPeak ? "the peak" : `instant ${String(found.instant)}`;
  const rows = found.live.rowCount;
  return (
    <Moments
      state={state}
      title={TITLES.timeline}
      help={
        "Bytes in use at each instant of the heap simulation, by kind of buffer or by the ten lines with most at the peak.\n" +
        "Kept for backward: written by the forward pass and read by the backward pass. Arguments grow with the batch, parameters do not (below).\n" +
        "Source: HLO, buffer assignment."
      }
      file={file}
      spec={spec}
      stacks={CHOICES}
      stack={by}
      marks={[
        { from: found.peak, colour: null, label: "peak" },
        ...(found.instant === found.peak ? [] : [{ from: found.instant, colour: null, label: "shown" }]),
      ]}
      onPick={(place) => state.set({ instant: String(found.shown[place] ?? found.peak) }, "replace")}
      table={
        atPeak
          ? null
          : {
              key: String(found.instant),
              title: `Buffers at ${where}`,
              data: found.live,
              store: "t2",
              rowTools: (row) =>
                sources[row] ? (
                  <button
                    type="button"
                    class="button ghost"
                    onClick={() => state.set(sourceLink(host, own, sources[row] ?? "", { module_name: module }), "push")}
                  >
                    Source
                  </button>
                ) : null,
            }
      }
    >
      <p class="dim" role="status">
        {`${formatBytes(found.live_bytes)} live at ${where}${rows < 500 ? ` in ${plural(rows, "buffer")}` : ", the 500 largest are listed"}.`}{" "}
        {atPeak ? null : (
          <button type="button" class="link" onClick={() => state.set({ instant: null }, "replace")}>
            Back to the peak
          </button>
        )}
      </p>
    </Moments>
  );
}

/** Positions of the slider: powers of two, in quarters. */
const factorOf = (position: number): number => 2 ** (position / 4);
const POSITIONS = { least: -8, most: 20 } as const;

function Fit({ page: { state }, found }: { page: PageProps; found: ProgramMemoryOverTime }) {
  const [more, setMore] = useState(false);
  const wanted = useKey(state, "batch");
  const held = Number(wanted ?? "0");
  const position = Number.isInteger(held) ? Math.max(POSITIONS.least, Math.min(POSITIONS.most, held)) : 0;
  const [fixed, scaled] = [useKey(state, "fixed"), useKey(state, "scaled")];
  // No verdict before something is changed or ticked, nor where nothing grows with the batch.
  const grows = columnOf(found.assumed, "scales")?.some((scales) => scales === true) ?? false;
  const asked = (wanted !== null || fixed !== null || scaled !== null) && grows;
  const k = factorOf(position);
  const rows = Array.from({ length: found.assumed.rowCount }, (_, row) => row);
  const text = (id: string): string[] => textsOf(found.assumed, id, "the table of assumptions");
  const [names, kinds, paths, why] = [text("name"), text("category"), text("framework_op"), text("why")];
  const column = (id: string) => columnOf(found.assumed, id) ?? [];
  const [numbers, sizes, scales] = [column("number"), column("size"), column("scales")];
  const choose = (number: number, wanted: boolean): void =>
    state.set({ fixed: toggled(state.get("fixed"), number, !wanted), scaled: toggled(state.get("scaled"), number, wanted) }, "replace");
  return (
    <Card
      title="Does it fit?"
      class="memory-fit"
      help={
        "The peak if the batch were larger or smaller: buffers that grow with it are multiplied, the others stay. The peak may move to another instant.\n" +
        "The compiler may choose other fusions and layouts for another size.\n" +
        "Source: estimate, from the buffer assignment and the assumptions below."
      }
    >
      <label class="memory-fit-slider">
        Batch ×{" "}
        <input
          type="range"
          min={POSITIONS.least}
          max={POSITIONS.most}
          step={1}
          value={position}
          aria-valuetext={`${String(Number(k.toPrecision(3)))} times${asked ? `, ${formatBytes(peakAt(found, k))}` : ""}`}
          onInput={(event) => state.set({ batch: event.currentTarget.value }, "replace")}
        />
      </label>
      <p aria-live="polite">
        {asked
          ? fitSentence(found, k)
          : grows
            ? "Move the slider: the peak for another batch appears here."
            : "Tick what grows with the batch, then move the slider."}
      </p>
      <p class="dim">
        {found.batch > 0
          ? `The batch is taken to be ${String(found.batch)}, the first dimension of the arguments that are no parameters.`
          : "No argument has a recognisable batch: choose below what grows with it."}{" "}
        Ticked buffers grow with it:
      </p>
      <ul class="memory-fit-list">
        {rows.slice(0, more ? rows.length : SHOWN_ASSUMPTIONS).map((row) => (
          <li key={String(numbers[row])}>
            <label>
              <input
                type="checkbox"
                checked={scales[row] === true}
                onChange={(event) => choose(Number(numbers[row]), event.currentTarget.checked)}
              />
              <span class="memory-fit-name">
                {paths[row] && ["parameter", "argument"].includes(kinds[row] ?? "") ? paths[row] : names[row] || "unknown"}
              </span>
            </label>
            <span class="dim">{kinds[row]}</span>
            <span class="number" data-tip={formatExact(sizes[row], "bytes")}>
              {formatBytes(Number(sizes[row]))}
            </span>
            <span class="dim">{why[row]}</span>
          </li>
        ))}
      </ul>
      {rows.length > SHOWN_ASSUMPTIONS ? (
        <button type="button" class="link" onClick={() => setMore(!more)}>
          {more ? "Show fewer" : `Show the ${String(rows.length)} largest`}
        </button>
      ) : null}
    </Card>
  );
}
