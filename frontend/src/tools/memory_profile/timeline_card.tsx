// The timeline of an allocator by state, region, op or step, and what lives at the peak or at a chosen moment.
import { useMemo, useState } from "preact/hooks";
import { documentOf } from "../../api/client";
import { textsOf } from "../../api/payload/fields";
import type { AllocationsOverTime, AllocatorMemory } from "../../base/documents";
import { formatTime } from "../../base/format";
import { explain } from "../../page/failure/explain";
import { Moments } from "../../page/memory/moments";
import type { PageProps } from "../../page/page";
import { sourceLink } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { useLoad } from "../../widgets/status/use_load";
import { PARTS, hasLines, hidesFree, historyChart, isUnnamed, peakMark } from "./model";
import { STACKS, liveSentence, recordedChart } from "./over_time";
import type { Stack } from "./over_time";

const TOOL = "allocations_over_time";
const LABELS: Readonly<Record<Stack, string>> = { state: "By state", region: "By region", op: "By op", step: "By step", line: "By line" };
const HELP =
  "State of the memory after every allocation and deallocation: all events up to 1,000, else the one with the highest usage of each of 1,000 groups.\n" +
  "By region, op, step or line: the six with most at the peak. What was allocated before the recording, or is not recorded, is a part of its own.\n" +
  "The table lists allocations of the peak's step that were not freed before the peak, identical ones as one row, or the blocks of a chosen moment.\n" +
  "A flat line is normal on TPUs, whose programs reserve their memory before they run.\n" +
  "Source: trace.";

interface Props {
  page: PageProps;
  memory: AllocatorMemory;
  own: readonly string[];
  file: string;
  zoom: readonly [number, number] | null;
  onZoom: (zoom: readonly [number, number] | null) => void;
}

/** The blocks over time; not asked for until a page needs them. */
function useRecorded({ run, host, client }: PageProps, memory: string, instant: string | null, wanted: boolean) {
  const params = { run, host: host ?? undefined, memory_id: memory, instant: instant ?? undefined };
  const answer = useLoad(wanted ? JSON.stringify(params) : null, (signal) => documentOf(client, TOOL, params, { signal }));
  const [kept, keep] = useState<AllocationsOverTime | null>(null);
  if (answer.data !== null && answer.data !== kept) keep(answer.data);
  // The answer before stays until the next one is there, so that nothing jumps.
  const found = answer.data ?? (kept?.memory === memory ? kept : null);
  return { found, why: answer.error === null ? null : explain(answer.error, { run, tool: TOOL }).why };
}

export function TimelineCard({ page, memory, own, file, zoom, onZoom }: Props) {
  const { state, host } = page;
  const [stacked, instant] = [useKey(state, "stack"), useKey(state, "instant")];
  const located = useMemo(() => hasLines(memory), [memory]);
  const offered = located ? STACKS : STACKS.filter((one) => one !== "line");
  const by: Stack = offered.find((one) => one === stacked) ?? "state";
  const { found, why } = useRecorded(page, memory.id, instant, by !== "state" || instant !== null);
  const states = useMemo(() => historyChart(memory), [memory]);
  const recorded = useMemo(() => (found === null || by === "state" ? null : recordedChart(found, by)), [found?.time_ps, found?.stacks, by]);
  const chosen = found !== null && instant !== null && found.instant !== found.peak ? found : null;
  // Lines that were recorded with allocations are of no op, which the page Source is about.
  const sources = chosen === null || located ? [] : textsOf(chosen.live, "source", "the table of blocks");
  return (
    <Moments
      state={state}
      title="Memory timeline"
      help={HELP}
      file={file}
      spec={recorded ?? states}
      stacks={offered.map((id) => ({ id, label: LABELS[id] }))}
      stack={by}
      marks={[peakMark(memory), ...(chosen === null ? [] : [{ from: chosen.at_ps, colour: null, label: "shown" }])]}
      startHidden={recorded === null && hidesFree(memory) ? [PARTS.free.name] : []}
      zoom={zoom}
      onZoom={onZoom}
      onPick={
        recorded === null || found === null
          ? undefined
          : (place) => state.set({ instant: String(found.shown[place] ?? found.peak) }, "replace")
      }
      table={
        chosen === null
          ? { key: memory.id, title: "Live allocations at the peak", data: memory.live, store: "t1" }
          : {
              key: `${memory.id} ${String(chosen.instant)}`,
              title: `Blocks at ${formatTime(chosen.at_ps)}`,
              data: chosen.live,
              store: "t4",
              rowTools: (row) =>
                sources[row] ? (
                  <button type="button" class="button ghost" onClick={() => state.set(sourceLink(host, own, sources[row] ?? ""), "push")}>
                    Source
                  </button>
                ) : null,
            }
      }
    >
      {why !== null ? (
        <p class="dim" role="status">
          The life of the blocks is not shown: {why}
        </p>
      ) : chosen !== null ? (
        <p class="dim" role="status">
          {liveSentence(chosen)}{" "}
          <button type="button" class="link" onClick={() => state.set({ instant: null }, "replace")}>
            Back to the peak
          </button>
        </p>
      ) : isUnnamed(memory) ? (
        <p class="dim">
          No op names were recorded. Of JAX, the Memory viewer has the ops of a program; TensorFlow records them with its memory events.
        </p>
      ) : null}
    </Moments>
  );
}
