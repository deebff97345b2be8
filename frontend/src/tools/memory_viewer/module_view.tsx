// The charts and tables of one module, which share a selected buffer.
import { useMemo, useState } from "preact/hooks";
import type { PageProps } from "../../page/page";
import { fileNameOf, storeAt, toolPatch } from "../../page/page_state";
import { sourceLink } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { plural } from "../../base/format";
import { Card } from "../../widgets/content/card";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Figures } from "../../widgets/content/figures";
import { InEditor } from "../../widgets/content/in_editor";
import { Link } from "../../widgets/content/link";
import { FitTable } from "../../widgets/table/fit_table";
import { ShareBar } from "../../widgets/chart/share_bar";
import { Blocks } from "./charts/blocks";
import { BufferBar } from "./charts/buffer_bar";
import type { Choosing } from "./charts/buffer_bar";
import type { ProgramMemory } from "../../base/documents";
import { BaseLine } from "../../page/compare/base_run";
import { BaseCard, useBaseModule } from "./base";
import { withBaseBuffers } from "./base_tables";
import { bufferTable, buffersOf, card, figures, hasSeries, headline, keyOf, search } from "./model";
import type { Buffer, Grouping } from "./model";
import { CHOICES, OverTime } from "./over_time/card";
import { StackSwitch } from "../../page/memory/moments";
import { Treemap } from "./charts/treemap";
import { WorkingSpace } from "./charts/working_space";
import { RichText } from "../../widgets/content/rich_text";

interface Props {
  page: PageProps;
  view: ProgramMemory;
  module: string;
  space: string;
  query: string;
  /** Query keys that are not kept when another tool is opened. */
  own: readonly string[];
}

export function ModuleView({ page, view, module, space, query, own }: Props) {
  const { run, state } = page;
  const buffers = useMemo(() => buffersOf(view), [view]);
  const kept = useKey(state, "buffer");
  const [pointed, setPointed] = useState<Buffer | null>(null);
  const [zoom, setZoom] = useState<readonly [number, number] | null>(null);
  const pinned = useMemo(() => buffers.find((buffer) => keyOf(buffer) === kept) ?? null, [buffers, kept]);
  const matches = useMemo(() => search(buffers, query), [buffers, query]);
  const chosen = pointed ?? pinned;
  const largest = useMemo(
    () => buffers.filter(({ index }) => matches === null || matches.has(index)).sort((a, b) => b.size - a.size)[0] ?? null,
    [buffers, matches],
  );
  const pick = (buffer: Buffer): void => state.set({ buffer: buffer === pinned ? null : keyOf(buffer) }, "replace");
  const choosing: Choosing = { chosen, found: matches, onPoint: setPointed, onPick: pick };
  const { tone, title, sentences, parts } = useMemo(() => headline(view, module, space), [view, module, space]);
  const [stack, instant] = [useKey(state, "stack"), useKey(state, "instant")];
  const timed = space === "0" && buffers.length > 0;
  const stacked = stack !== null || instant !== null;
  const file = fileNameOf("memory", run, module);
  const base = useBaseModule(page, module, space);
  const overview = useMemo(() => <Figures items={figures(view, space)} />, [view, space]);
  return (
    <>
      <SummaryBox tone={tone} title={title}>
        {parts.length ? <ShareBar parts={parts} label="Memory at the peak" /> : null}
        <p>
          <RichText text={sentences.join(" ")} />
        </p>
      </SummaryBox>
      <BaseLine
        page={page}
        answer={base}
        note={base.data === null ? "" : base.data.module === module ? "" : `Its program is ${base.data.module}.`}
      />
      {base.data === null ? null : <BaseCard view={view} base={base.data.view} file={file} page={page} />}
      <div class="columns narrow-wide">
        <div class="column">
          <BufferCard
            buffer={chosen ?? largest}
            state={chosen === null ? "largest" : chosen === pinned ? "pinned" : "hovered"}
            page={page}
            module={module}
            own={own}
          />
          <Card title="Overview">{overview}</Card>
        </div>
        <div class="column">
          {timed && stacked ? (
            <OverTime key={module} page={page} module={module} own={own} file={file} part="timeline" />
          ) : (
            <Card
              title="Working space over the program order"
              help={
                "Memory in use before each event of the compiler's heap simulation.\n" +
                "An event allocates, frees or shares a buffer.\n" +
                "Source: HLO, buffer assignment."
              }
            >
              {hasSeries(view) ? (
                <WorkingSpace
                  tools={timed ? <StackSwitch state={state} stacks={CHOICES} stack="size" /> : null}
                  fileName={file}
                  view={view}
                  space={space}
                  buffer={chosen}
                  zoom={zoom}
                  onZoom={setZoom}
                />
              ) : (
                <p class="dim">
                  Not available: the module has no heap simulation for this memory space. All its buffers are live for the whole program.
                </p>
              )}
            </Card>
          )}
          {buffers.length ? (
            <Card
              title="Buffers at the peak"
              help={
                "The buffers that are live at the peak; width is size.\nA buffer has the same colour in all charts.\nSource: HLO, buffer assignment."
              }
            >
              <BufferBar {...choosing} buffers={buffers} order="program" title="By program order" />
              <BufferBar {...choosing} buffers={buffers} order="size" title="By size" />
              <BufferBar {...choosing} buffers={buffers} order="padding" title="By padding" />
              <p class="dim" aria-live="polite">
                {matches
                  ? `${plural(matches.size, "buffer")} of ${buffers.length} match the search.`
                  : "Hover over a buffer for details, click to pin it, or use the arrow keys."}
              </p>
            </Card>
          ) : null}
          {buffers.length ? <Areas {...choosing} view={view} buffers={buffers} state={state} file={file} /> : null}
        </div>
      </div>
      {timed ? <OverTime key={module} page={page} module={module} own={own} file={file} part="fit" /> : null}
      {buffers.length && !(timed && stacked && instant !== null) ? (
        <BufferTable view={view} buffers={buffers} base={base.data?.view ?? null} found={matches} file={file} page={page} onOpen={pick} />
      ) : null}
      {view.blocks.rowCount ? (
        <Card
          title="Allocation timeline"
          collapsed
          help={"Offset of each temporary within its allocation, and its lifetime.\nSource: HLO, buffer assignment and heap simulation."}
        >
          <Blocks
            {...choosing}
            view={view}
            zoom={zoom}
            onZoom={setZoom}
            buffers={buffers}
            fileName={`${file}_allocations`}
            tools={<TimelineLink page={page} module={module} space={space} />}
          />
        </Card>
      ) : null}
    </>
  );
}

function TimelineLink({ page, module, space }: { page: PageProps; module: string; space: string }) {
  const { run, tool, host, client } = page;
  const href = client.url("page", {
    run,
    tag: tool.id,
    host: host ?? undefined,
    module_name: module,
    memory_space: space,
    view_memory_allocation_timeline: true,
  });
  return (
    <a class="button ghost" href={href} target="_blank" rel="noreferrer">
      Open in a new tab
    </a>
  );
}

/** The table of the buffers at the peak. */
const TABLE_ID = "buffer-table";

const STATES = { largest: "largest", pinned: "pinned", hovered: "hovered" } as const;

interface BufferCardProps {
  buffer: Buffer | null;
  state: keyof typeof STATES;
  page: PageProps;
  module: string;
  own: readonly string[];
}

function BufferCard({ buffer, state, page, module, own }: BufferCardProps) {
  if (buffer === null) return null;
  // The graph shows instructions, not elements of their tuples.
  const node = buffer.name.replace(/\{[\d,]*\}$/, "");
  const graph = toolPatch("graph_viewer", page.host, own, { module_name: module, node_name: node });
  return (
    <Card title="Buffer" class="buffer-card" tools={<span class="dim">{STATES[state]}</span>}>
      <Figures items={card(buffer)} />
      {buffer.source ? (
        <div class="buffer-source">
          <p>
            <span class="dim">Source </span>
            <Link to={sourceLink(page.host, own, buffer.source, { module_name: module })}>{buffer.source}</Link>
            <InEditor place={buffer.source} />
          </p>
          {buffer.stack ? (
            <details>
              <summary>Call stack</summary>
              <pre>{buffer.stack}</pre>
            </details>
          ) : null}
        </div>
      ) : null}
      <p>
        <Link to={toolPatch("source_view", page.host, own, { module_name: module, view: "flame", order: "peak" })}>
          Flame graph of the peak by call stack
        </Link>
      </p>
      {buffer.buffer_id !== null ? (
        <p>
          <Link to={graph}>Show {node} in the graph viewer</Link>
        </p>
      ) : null}
    </Card>
  );
}

function Areas({
  view,
  buffers,
  state,
  file,
  ...choosing
}: Choosing & { view: ProgramMemory; buffers: readonly Buffer[]; state: PageProps["state"]; file: string }) {
  const grouping: Grouping = useKey(state, "group_by") === "op" ? "op" : "category";
  const choose = (next: Grouping): void => state.set({ group_by: next === "op" ? "op" : null }, "replace");
  const tools = (
    <span class="segmented" role="group" aria-label="Group by">
      <button type="button" aria-pressed={grouping === "category"} onClick={() => choose("category")}>
        By category
      </button>
      <button type="button" aria-pressed={grouping === "op"} onClick={() => choose("op")}>
        By op
      </button>
    </span>
  );
  return (
    <Card
      title="Treemap of the peak"
      collapsed
      tools={tools}
      help={"Area is size at the peak.\nOps are framework ops, else opcodes.\nSource: HLO, buffer assignment."}
    >
      <Treemap
        {...choosing}
        view={view}
        buffers={buffers}
        grouping={grouping}
        fileName={`${file}_peak`}
        onTable={() => document.querySelector<HTMLElement>(`#${TABLE_ID} [role="grid"]`)?.focus()}
      />
    </Card>
  );
}

interface TableProps {
  view: ProgramMemory;
  buffers: readonly Buffer[];
  base: ProgramMemory | null;
  found: ReadonlySet<number> | null;
  file: string;
  page: PageProps;
  onOpen: (buffer: Buffer) => void;
}

function BufferTable({ view, buffers, base, found, file, page, onOpen }: TableProps) {
  const rows = useMemo(() => buffers.filter(({ index }) => found === null || found.has(index)), [buffers, found]);
  const data = useMemo(
    () => (base === null ? bufferTable(view, rows) : withBaseBuffers(view, base, rows, found !== null)),
    [rows, view, base],
  );
  const store = useMemo(() => storeAt(page.state, "t1"), [page.state]);
  // Memoized, so that hovering over a buffer does not render the table again.
  const table = useMemo(
    () => (
      <FitTable
        key={base === null ? "" : "base"}
        most={420}
        data={data}
        title=""
        fileName={`${file}_peak`}
        store={store}
        onOpen={(row) => {
          const buffer = rows[row];
          if (buffer) onOpen(buffer);
        }}
      />
    ),
    [data, file, store],
  );
  return (
    <div id={TABLE_ID}>
      <Card
        title="Table of the buffers at the peak"
        help={"Double click or Enter pins a buffer in the charts above.\nSource: HLO, buffer assignment."}
      >
        {table}
      </Card>
    </div>
  );
}
