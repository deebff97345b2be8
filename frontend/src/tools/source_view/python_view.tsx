// Time of the host threads by Python call stack, as a flame graph.
import { useMemo } from "preact/hooks";
import { BaseLine, useComparedBase } from "../../page/compare/base_run";
import { usePerStep } from "../../page/compare/per_step";
import { Pending } from "../../page/failure/pending";
import type { PageProps } from "../../page/page";
import { fileNameOf } from "../../page/page_state";
import { formatPercent, formatTime } from "../../base/format";
import { layoutFlame } from "../../base/flame/flame";
import { FlameGraph } from "../../widgets/flame/flame";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { documentOf } from "../../api/client";
import type { PythonStacks } from "../../base/documents";
import { pythonFrames } from "./python";

export function PythonView({ page, onBack }: { page: PageProps; onBack: () => void }) {
  const { run, host, client } = page;
  const params = { run, tag: "python_stacks", host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "python_stacks", params, { signal }));
  const back = (
    <button type="button" class="button" onClick={onBack}>
      Show the lines of devices
    </button>
  );
  if (answer.data === null)
    return (
      <Pending answer={answer} page={page} what="Adding up the calls of Python">
        {back}
      </Pending>
    );
  if (answer.data.reason !== null)
    return (
      <Panel tone="empty" title="No call of Python" why={answer.data.reason} todo={["Capture again with the Python tracer on."]}>
        {back}
      </Panel>
    );
  return <Frames page={page} stacks={answer.data} params={params} onBack={onBack} />;
}

interface FramesProps {
  page: PageProps;
  stacks: PythonStacks;
  params: Readonly<Record<string, string | undefined>>;
  onBack: () => void;
}

function Frames({ page, stacks, params, onBack }: FramesProps) {
  const { state, run, host } = page;
  const { base, found } = useComparedBase<PythonStacks>(page, { params });
  const per = usePerStep(page, found);
  const root = useMemo(() => pythonFrames(stacks, base.data, base.data === null ? null : per.steps), [stacks, base.data, per.steps]);
  const headline = useMemo(() => pythonHeadline(stacks), [stacks]);
  return (
    <div class="src">
      <div class="src-page-head">
        <SummaryBox title={headline}>
          <p>Time of the threads with Python frames, waits included; frames are functions and what they call.</p>
        </SummaryBox>
        <BaseLine page={page} answer={base} per={per} />
        <div class="src-controls" role="toolbar" aria-label="View">
          <button type="button" class="button" onClick={onBack}>
            Lines of devices
          </button>
        </div>
      </div>
      <div class="src-split">
        <FlameGraph
          root={root}
          unit="ps"
          what={base.data !== null && per.steps !== null ? "Time per step" : "Time"}
          fileName={fileNameOf("python", run, host)}
          state={{ get: (name) => state.get(name), set: (patch) => state.set(patch, "replace") }}
        />
      </div>
    </div>
  );
}

/** The frame with most time of its own. */
export function pythonHeadline(stacks: PythonStacks): string {
  const flame = layoutFlame(pythonFrames(stacks, null, null));
  const own = new Map<string, number>();
  flame.nodes.forEach(({ name }, i) => (flame.depth[i] ?? 0) > 2 && own.set(name, (own.get(name) ?? 0) + (flame.self[i] ?? 0)));
  const [name, time] = [...own].reduce((most, one) => (one[1] > most[1] ? one : most), ["", 0]);
  return `${formatPercent(flame.total > 0 ? (100 * time) / flame.total : 0)} of ${formatTime(flame.total)} of Python threads is spent in ${name}`;
}
