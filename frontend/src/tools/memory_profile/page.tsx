// Memory profile: summary of the peak, memory timeline, and live allocations at the peak.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { BaseLine, useBase } from "../../page/compare/base_run";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, storeAt, toolPatch } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { documentOf } from "../../api/client";
import { numbersOf } from "../../api/payload/fields";
import type { AllocatorMemory, MemoryProfile } from "../../base/documents";
import { formatBytes, plural } from "../../base/format";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Card } from "../../widgets/content/card";
import { Figures } from "../../widgets/content/figures";
import { Link } from "../../widgets/content/link";
import { FitTable } from "../../widgets/table/fit_table";
import { Panel } from "../../widgets/status/panel";
import { ShareBar } from "../../widgets/chart/share_bar";
import { useLoad } from "../../widgets/status/use_load";
import { figures, fullest, headline, linesTable, modulesOf, nameOf, peakMarker, peaksTable } from "./model";
import { TimelineCard } from "./timeline_card";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

/** Query keys of this page. */
const OWN_KEYS = ["memory_id", "range", "instant", "stack"];
function MemoryProfilePage(props: PageProps) {
  const { run, tool, host, client } = props;
  const params = { run, tag: tool.id, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "memory_profile", params, { signal }));
  if (answer.data === null) return <Pending answer={answer} page={props} what={`Reading the allocations of ${host ?? "the host"}`} />;
  const first = fullest(answer.data.memories);
  if (first === null) return <Nothing {...props} />;
  return <Content page={props} profile={answer.data} first={first} />;
}

/** Explains which events are missing and how to record them. */
function Nothing({ host }: PageProps) {
  return (
    <Panel
      tone="empty"
      title="This profile contains no allocator events"
      why={
        "The page needs events named MemoryAllocation and MemoryDeallocation on the host's plane /host:CPU; " +
        `${host ? `host ${host}` : "the host"} recorded none.`
      }
      todo={[
        "Profile while memory is allocated or freed, such as at the start of the program: a loop that reuses its buffers makes no events.",
        'Capture with a host tracer level of 2 or more: profiler_options={"host_tracer_level": 2}.',
        "JAX on CPUs records no allocations; TensorFlow, GPUs and TPUs do.",
        "PyTorch's profiler records memory with profile_memory=True; a memory snapshot, torch.cuda.memory._dump_snapshot, has it with call stacks.",
        "For the memory that a compiled program needs, see the Memory viewer: it uses the compiler's buffer assignment and needs no such events.",
      ]}
    >
      <Link class="button" to={toolPatch("memory_viewer", host, OWN_KEYS)}>
        Open the memory viewer
      </Link>
    </Panel>
  );
}

interface ContentProps {
  page: PageProps;
  profile: MemoryProfile;
  /** The memory shown if the address names none. */
  first: AllocatorMemory;
}

/** "from,to" in picoseconds. */
function readRange(text: string | null): readonly [number, number] | null {
  const [from, to] = (text ?? "").split(",").map(Number);
  return from !== undefined && to !== undefined && Number.isFinite(from) && to > from ? [from, to] : null;
}

function Content({ page, profile, first }: ContentProps) {
  const { run, host, state } = page;
  const wanted = useKey(state, "memory_id");
  const range = useKey(state, "range");
  const memory = profile.memories.find(({ id }) => id === wanted) ?? first;
  const zoom = useMemo(() => readRange(range), [range]);
  const onZoom = (next: readonly [number, number] | null): void =>
    state.set({ range: next ? next.map(Math.round).join(",") : null }, "replace");
  const base = useBase<MemoryProfile>(page, { params: { run, tag: page.tool.id, host: host ?? undefined } });
  const other = base.data?.memories.find(({ id }) => id === memory.id) ?? null;
  const peaks = useMemo(() => (other === null ? null : peaksTable(memory, other)), [memory, other]);
  const lines = useMemo(() => (other === null ? null : linesTable(memory, other)), [memory, other]);
  const baseStore = useMemo(() => storeAt(state, "t3"), [state]);
  const linesStore = useMemo(() => storeAt(state, "t5"), [state]);
  const file = fileNameOf("memory", run, host, memory.id);
  const { tone, title, sentences, parts } = headline(profile, memory);
  const trace = toolPatch("trace_viewer@", host, OWN_KEYS, { marker: peakMarker(memory) });
  return (
    <div class="tool-page">
      <div class="tool-page-body memory-profile">
        <SummaryBox tone={tone} title={title}>
          <ShareBar parts={parts} label="Memory at the peak" />
          <p>
            <RichText text={sentences.join(" ")} /> <Link to={trace}>Open the trace viewer at the peak</Link>
          </p>
          <label class="memory-choice">
            <span data-tip="With the peak of each">Memory ID</span>
            <select
              class="field"
              value={memory.id}
              onChange={(event) => state.set({ memory_id: event.currentTarget.value, range: null, instant: null }, "push")}
            >
              {profile.memories.map((one) => (
                <option key={one.id} value={one.id}>
                  {nameOf(one)}: {formatBytes(one.peak.used)}
                </option>
              ))}
            </select>
          </label>
        </SummaryBox>
        <BaseLine
          page={page}
          answer={base}
          note={base.data !== null && other === null ? `The base has no memory ${nameOf(memory)}.` : ""}
        />
        {peaks === null ? null : (
          <Card title="Peak against the base" help={"State of the memory at the peak of each run.\nSource: trace."}>
            <FitTable most={300} data={peaks} title="" fileName={`${file}_base`} store={baseStore} />
          </Card>
        )}
        {lines === null ? null : (
          <Card
            title="Lines against the base"
            help={"Memory in use at the peak of each run, by the line that asks for it.\nSource: trace."}
          >
            <FitTable most={300} data={lines} title="" fileName={`${file}_base_lines`} store={linesStore} />
          </Card>
        )}
        <TimelineCard page={page} memory={memory} own={OWN_KEYS} file={file} zoom={zoom} onZoom={onZoom} />
        <Card title="Memory summary" collapsed>
          <Figures items={figures(memory)} />
        </Card>
        {profile.has_modules ? (
          <Card title="HLO modules" collapsed help={"Runs of compiled programs on the device.\nSource: trace, lines XLA Modules."}>
            <Modules page={page} memory={memory} fileName={file} onZoom={onZoom} />
          </Card>
        ) : null}
      </div>
    </div>
  );
}

interface ModulesProps {
  page: PageProps;
  memory: AllocatorMemory;
  fileName: string;
  onZoom: (zoom: readonly [number, number]) => void;
}

/** Runs of compiled programs, asked for when their card is opened; opening a row zooms the timeline to it. */
function Modules({ page, memory, fileName, onZoom }: ModulesProps) {
  const { run, tool, host, client, state } = page;
  const params = { run, tag: tool.id, host: host ?? undefined, modules: "true" };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "memory_profile", params, { signal }));
  const store = useMemo(() => storeAt(state, "t2"), [state]);
  const modules = useMemo(() => (answer.data === null ? null : modulesOf(answer.data.modules, memory)), [answer.data, memory]);
  if (modules === null) return <Pending answer={answer} page={page} what="Reading the runs of compiled programs" rows={4} />;
  const open = (row: number): void => {
    const [begin, end] = ["start", "end"].map((id) => numbersOf(modules, id, "the module runs")[row]);
    if (begin !== undefined && end !== undefined) onZoom([begin, Math.max(end, begin + 1)]);
  };
  return (
    <>
      <p class="dim">{plural(modules.rowCount, "run")}. Double click or Enter zooms the timeline to one.</p>
      <FitTable most={320} data={modules} title="" fileName={`${fileName}_modules`} store={store} onOpen={open} />
    </>
  );
}

const page: PageModule = { ids: ["memory_profile"], Page: MemoryProfilePage, compares: true, findings: ["memory_viewer"] };
export default page;
