// An allocator's memory over the time of the recording, and the blocks at a moment.
import { useMemo, useState } from "preact/hooks";
import { documentOf } from "../../api/client";
import { textsOf } from "../../api/payload/fields";
import type { AllocationsOverTime } from "../../base/documents";
import { explain } from "../../page/failure/explain";
import { Moments } from "../../page/memory/moments";
import type { PageProps } from "../../page/page";
import { sourceLink } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { formatTime } from "../../base/format";
import { Card } from "../../widgets/content/card";
import { useLoad } from "../../widgets/status/use_load";
import { STACKS, liveSentence, msOf, recordedChart } from "./over_time";
import type { Stack } from "./over_time";

const TOOL = "allocations_over_time";
const LABELS: Readonly<Record<Stack, string>> = { region: "By region", op: "By op", step: "By step" };

interface Props {
  page: PageProps;
  memory: string;
  own: readonly string[];
  file: string;
}

export function RecordedMoments({ page, memory, own, file }: Props) {
  const { run, host, client, state } = page;
  const instant = useKey(state, "instant");
  const params = { run, host: host ?? undefined, memory_id: memory, instant: instant ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, TOOL, params, { signal }));
  const [kept, keep] = useState<AllocationsOverTime | null>(null);
  if (answer.data !== null && answer.data !== kept) keep(answer.data);
  // The answer before stays until the next one is there, so that nothing jumps.
  const found = answer.data ?? (kept?.memory === memory ? kept : null);
  const why = answer.error === null ? null : explain(answer.error, { run, tool: TOOL }).why;
  if (found === null)
    return (
      <Card title="Memory over time">
        <p class="dim">{why ?? "Reading the life of the blocks…"}</p>
      </Card>
    );
  return (
    <>
      {why === null ? null : (
        <p class="dim" role="status">
          The chosen moment is not shown: {why}
        </p>
      )}
      <Shown page={page} found={found} own={own} file={file} />
    </>
  );
}

function Shown({ page: { state, host }, found, own, file }: Omit<Props, "memory"> & { found: AllocationsOverTime }) {
  const stacked = useKey(state, "stack");
  const by: Stack = STACKS.find((one) => one === stacked) ?? "region";
  const spec = useMemo(() => recordedChart(found, by), [found.time_ps, found.stacks, by]);
  const sources = textsOf(found.live, "source", "the table of blocks");
  const peakPs = found.time_ps[found.heap.indexOf(Math.max(...found.heap))] ?? 0;
  return (
    <Moments
      state={state}
      help={
        "Blocks in use after each event of the allocator, by region, op or step: the six with most at the peak.\n" +
        "What was allocated before the recording, or is not recorded, is a part of its own, so that the sum is what the allocator counts.\n" +
        "Source: trace."
      }
      file={file}
      spec={spec}
      stacks={STACKS.map((id) => ({ id, label: LABELS[id] }))}
      stack={by}
      peak={msOf(peakPs)}
      shown={msOf(found.instant === found.peak ? peakPs : found.at_ps)}
      onPick={(place) => state.set({ instant: String(found.shown[place] ?? found.peak) }, "replace")}
      status={liveSentence(found)}
      listTitle={`Blocks at ${found.instant === found.peak ? "the peak" : formatTime(found.at_ps)}`}
      live={found.live}
      table="t4"
      rowTools={(row) =>
        sources[row] ? (
          <button type="button" class="button ghost" onClick={() => state.set(sourceLink(host, own, sources[row] ?? ""), "push")}>
            Source
          </button>
        ) : null
      }
    />
  );
}
