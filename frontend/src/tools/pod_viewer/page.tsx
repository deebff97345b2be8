// Pod viewer: compares the workers within a step, to find stragglers.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { askedReading } from "../../page/page";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, toolPatch } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { plural } from "../../base/format";
import { countSteps } from "../../base/steps/decomposition";
import { Callouts } from "../../widgets/status/callouts";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { swatchStyle } from "../../widgets/chart/style";
import { useTheme } from "../../widgets/chart/use_theme";
import { Link } from "../../widgets/content/link";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { documentOf } from "../../api/client";
import { podOf } from "./pod";
import type { Pod, PodStep } from "./pod";
import { chooseStep, podHeadline, stepsChart, workerCard, workersChart } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

/** Delay before the slider is written to the address, so that a drag makes one history entry. */
const SETTLE_MS = 200;
const TRACE = "trace_viewer@";
/** Query keys of this page. */
const OWN_KEYS = ["step", "worker"];

function PodPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const params = { run, host: host ?? undefined, ...askedReading(page.reading) };
  const answer = useLoad(JSON.stringify(params), async (signal) => podOf(await documentOf(client, "pod_viewer", params, { signal })));
  if (answer.data === null)
    return (
      <Pending answer={answer} page={page} what={`Comparing the workers of ${plural(hostCount(tool, host, hosts), "host")}`} rows={16} />
    );
  if (answer.data.steps.length === 0) {
    return (
      <div class="tool-page">
        <div class="tool-page-body">
          <Callouts messages={messagesOf(answer.data)} />
          <Panel
            tone="empty"
            title="No steps to compare"
            why="The recording has no step in which all workers took part."
            todo={[
              "Mark steps with StepTraceAnnotation, in PyTorch with prof.step() (Keras does so itself).",
              "Profile for longer, so that complete steps are recorded.",
              "The overview may infer steps from repeating events.",
            ]}
          />
        </div>
      </div>
    );
  }
  return <Content pod={answer.data} state={state} file={fileNameOf("pod", run, host)} />;
}

const messagesOf = ({ notes }: Pod) => notes.map((text) => ({ severity: "info" as const, text }));

function Content({ pod, state, file }: { pod: Pod; state: PageProps["state"]; file: string }) {
  const wanted = useKey(state, "step");
  const [at, setAt] = useState(() => chooseStep(pod, wanted));
  useEffect(() => setAt(chooseStep(pod, wanted)), [wanted, pod]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const [core, setCore] = useState<number | null>(() => (state.get("worker") === null ? null : Number(state.get("worker"))));
  const step = pod.steps[Math.min(at, pod.steps.length - 1)];
  const all = useMemo(() => stepsChart(pod), [pod]);
  const spec = useMemo(() => (step ? workersChart(pod, step) : null), [pod, step]);
  if (!step || !spec) return null;
  const choose = (next: number): void => {
    const place = Math.max(0, Math.min(pod.steps.length - 1, next));
    setAt(place);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => state.set({ step: place === 0 ? null : String(pod.steps[place]?.number) }, "replace"), SETTLE_MS);
  };
  const pick = (place: number): void => {
    const chosen = pod.workers[place]?.core ?? null;
    setCore(chosen);
    state.set({ worker: chosen === null ? null : String(chosen) }, "replace");
  };
  const { tone, title, sentences } = podHeadline(pod, step);
  const shownCore = core !== null && step.byCore.has(core) ? core : slowestCore(step);
  return (
    <div class="tool-page">
      <div class="tool-page-body pod-page">
        <Callouts messages={messagesOf(pod)} />
        <SummaryBox tone={tone} title={title}>
          {sentences.length ? (
            <p>
              <RichText text={sentences.join(" ")} />
            </p>
          ) : null}
        </SummaryBox>
        {pod.steps.length > 1 ? <StepSlider pod={pod} at={at} onChange={choose} /> : null}
        <div class="columns narrow-wide">
          <WorkerCard pod={pod} step={step} core={shownCore} chosen={core !== null} />
          <Card title="Step breakdown" help={"Time of the selected step on each worker, by category.\nSource: trace."}>
            <Chart
              spec={spec}
              title=""
              fileName={`${file}_step_${step.number}`}
              height={300}
              onPick={pick}
              onPoint={(place) => {
                if (place !== null) setCore(pod.workers[place]?.core ?? null);
              }}
              pickHint="Click: show the details of this worker."
            />
          </Card>
        </div>
        {pod.steps.length > 1 ? (
          <Card title="Step time of all workers" help={"Line: mean over the workers. Band: minimum to maximum.\nSource: trace."}>
            <Chart
              spec={all}
              title=""
              fileName={`${file}_steps`}
              height={200}
              onPick={choose}
              pickHint="Click: show this step. Drag: zoom."
            />
          </Card>
        ) : null}
      </div>
    </div>
  );
}

function slowestCore(step: PodStep): number {
  const [slowest] = [...step.byCore].sort((a, b) => b[1].totalUs - a[1].totalUs);
  return slowest?.[0] ?? -1;
}

function StepSlider({ pod, at, onChange }: { pod: Pod; at: number; onChange: (at: number) => void }) {
  const name = pod.steps[at]?.name ?? "";
  return (
    <div class="step-slider" role="group" aria-label="Step">
      <label for="pod-step">Selected step</label>
      <button type="button" class="button icon" aria-label="Previous step" disabled={at === 0} onClick={() => onChange(at - 1)}>
        ‹
      </button>
      <input
        id="pod-step"
        type="range"
        min={0}
        max={pod.steps.length - 1}
        value={at}
        aria-valuetext={`Step ${name}`}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
      <button
        type="button"
        class="button icon"
        aria-label="Next step"
        disabled={at === pod.steps.length - 1}
        onClick={() => onChange(at + 1)}
      >
        ›
      </button>
      <output for="pod-step" class="number">
        {name}
      </output>
      <span class="dim number">
        {countSteps(pod.steps.length, pod.leftOut)}, {pod.steps[0]?.name} to {pod.steps.at(-1)?.name}
      </span>
    </div>
  );
}

function WorkerCard({ pod, step, core, chosen }: { pod: Pod; step: PodStep; core: number; chosen: boolean }) {
  const theme = useTheme();
  const card = workerCard(pod, step, core);
  if (!card) return null;
  const taking = card.lines.filter(({ share }) => share.share > 0);
  const none = card.lines.filter(({ share }) => share.share === 0);
  return (
    <Card title={`Step breakdown of ${card.title}`} class="worker-card">
      <p class="dim">
        {[
          card.host === null ? "" : `Host ${card.host}.`,
          chosen || pod.workers.length === 1 ? "" : "The slowest worker; hover over another in the chart.",
        ]
          .filter(Boolean)
          .join(" ")}
      </p>
      <dl>
        <dt>Total</dt>
        <dd class="number">{card.total}</dd>
        {taking.map(({ name, text, share, inner }) => [
          <dt key={name} class={inner ? "inner" : undefined}>
            <i class="swatch" style={swatchStyle(share.colour, theme, share.striped)} />
            {name}
          </dt>,
          <dd key={`${name}:value`} class="number">
            {text}
          </dd>,
        ])}
        {none.length ? (
          <>
            <dt class="dim" tabIndex={0} data-tip={none.map(({ name }) => name).join("\n")}>
              {plural(none.length, "part")} without time
            </dt>
            <dd class="number dim">{none[0]?.text}</dd>
          </>
        ) : null}
        <dt>Largest part</dt>
        <dd>{card.bottleneck || "-"}</dd>
      </dl>
      {card.window === null ? null : (
        <p>
          <Link
            to={toolPatch(TRACE, card.host ?? pod.workers.find((one) => one.core === core)?.host ?? null, OWN_KEYS, {
              window: card.window,
            })}
          >
            This step in the trace viewer
          </Link>
        </p>
      )}
    </Card>
  );
}

const page: PageModule = { ids: ["pod_viewer"], Page: PodPage, findings: [] };
export default page;
