// Compare: what changed between a base and the run, as contributions to the step that add up.
import { useMemo, useRef, useState } from "preact/hooks";
import type { ComparedRuns } from "../../base/documents";
import { documentOf } from "../../api/client";
import { ApiError } from "../../api/error";
import { explain } from "../../page/failure/explain";
import { choicesOf, proposalOf, useRelated } from "../../page/compare/bases";
import type { Related } from "../../page/compare/bases";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, storeAt, toolPatch } from "../../page/page_state";
import { formatTime, plural } from "../../base/format";
import { hiding } from "../../base/table/transform";
import { Callouts } from "../../widgets/status/callouts";
import { Card } from "../../widgets/content/card";
import { FitTable } from "../../widgets/table/fit_table";
import { Info } from "../../widgets/content/info";
import { Panel } from "../../widgets/status/panel";
import { Picker } from "../../widgets/overlay/picker";
import { Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { StepBars } from "../../widgets/chart/step_bars";
import { SummaryBox } from "../../widgets/content/summary_box";
import { useLoad } from "../../widgets/status/use_load";
import {
  KINDS_HELP,
  NO_CONTRIBUTIONS,
  OTHER_WAY,
  NO_MEMORY,
  NO_PROGRAMS,
  changesOf,
  intervalOf,
  intervalText,
  noiseText,
  percentOf,
  shownTable,
  signedTime,
  stepBars,
  targetOf,
} from "./model";
import type { Change, Target } from "./model";
import "./page.css";

const [BUDGET, TRACE] = ["time_budget", "trace_viewer@"];
/** Columns of contributions that are hidden at first: for links, or the same for most rows. */
const HIDDEN = ["where", "part", "low_ps", "high_ps", "ops", "event", "base_event"];
/** Prefixes of the keys of the tables that changes lead to. */
const STORES = { programs: "t2", ops: "t3" } as const;
const TONES = { same: "none", slower: "bad", faster: "good", unknown: "fair" } as const;

function ComparePage(page: PageProps) {
  const { run, tool, base, client } = page;
  const params = { run, base: base.run };
  const answer = useLoad(base.run === null ? null : JSON.stringify(params), (signal) => documentOf(client, "compare", params, { signal }));
  if (base.run === null) return <NoBase page={page} />;
  if (answer.error instanceof ApiError && answer.error.code === "run_not_found") return <Lost page={page} />;
  if (answer.error !== null) {
    return (
      <Panel {...explain(answer.error, { run, tool: tool.id })}>
        <BasePicker page={page} />
        <button type="button" class="button" onClick={answer.reload}>
          Try again
        </button>
      </Panel>
    );
  }
  if (answer.data === null) return <Pending answer={answer} page={page} what={`Comparing with ${base.run}`} rows={16} />;
  return <Content page={page} found={answer.data} />;
}

function BasePicker({ page }: { page: PageProps }) {
  const related = useRelated(page.client, page.run);
  return <RelatedPicker page={page} related={related ?? new Map()} />;
}

function RelatedPicker({ page: { run, base }, related }: { page: PageProps; related: Related }) {
  return <Picker label="Base" noun="run" choices={choicesOf(base, run, related)} value={base.run} onChoose={base.choose} />;
}

function NoBase({ page }: { page: PageProps }) {
  const { base, run, client } = page;
  const related = useRelated(client, run);
  const proposal = related === null ? null : proposalOf(base, run, related);
  const others = base.choices.filter(({ id }) => id !== run);
  if (others.length === 0) {
    return (
      <Panel
        tone="empty"
        title="There is no other run to compare with"
        why="The log directory has one run. A comparison needs two: a base and this run."
        todo={[
          "Capture again, or put another run into the log directory, then reload.",
          "Runs of two directories: tpu-profile compare DIRECTORY DIRECTORY.",
        ]}
      />
    );
  }
  return (
    <Panel
      tone="empty"
      title="Choose a base"
      why={
        `The base is the run that ${run} is compared with, such as the one before a change.` +
        (related !== null && proposal === null ? " No run is known to share most of its programs." : "")
      }
    >
      {proposal === null ? null : (
        <button type="button" class="button primary" onClick={() => base.choose(proposal.id)}>
          Compare with {proposal.id}: {proposal.why}
        </button>
      )}
      <RelatedPicker page={page} related={related ?? new Map()} />
    </Panel>
  );
}

function Lost({ page }: { page: PageProps }) {
  return (
    <Panel
      tone="error"
      title={`There is no run named ${page.base.run ?? ""}`}
      why="The base in the address is not in the log directory."
      todo={["Choose another base."]}
    >
      <BasePicker page={page} />
      <button type="button" class="button" onClick={() => page.base.choose(null)}>
        Remove the base
      </button>
    </Panel>
  );
}

function Content({ page, found }: { page: PageProps; found: ComparedRuns }) {
  const { run, base } = page;
  const changes = useMemo(() => changesOf(found), [found]);
  const steps = useMemo(() => stepBars(found), [found]);
  const file = fileNameOf("compare", base.run, run);
  const [shown, show] = useState<{ table: string; row: number } | null>(null);
  const rowOf = (table: string): { row: number } | null => (shown?.table === table ? shown : null);
  const body = useRef<HTMLDivElement>(null);
  const open = (target: Target): void => {
    if ("part" in target) return;
    show({ ...target });
    body.current?.querySelector(`.compare-${target.table}`)?.scrollIntoView?.({ block: "start" });
  };
  const tables = useTables(found, page);
  return (
    <div class="tool-page">
      <div class="tool-page-body compare" ref={body}>
        <div class="compare-choice">
          <BasePicker page={page} />
          <span class="dim">
            compared with the run <b>{run}</b>
          </span>
        </div>
        {found.caution === null ? null : <Callouts messages={[{ severity: "warning", text: found.caution }]} />}
        <SummaryBox tone={TONES[found.tone]} title={found.headline}>
          <StepLine found={found} />
          {steps === null ? null : (
            <StepBars bars={steps} of={found.compared} label={`The average ${found.compared} of both runs by category`} />
          )}
        </SummaryBox>
        <Callouts
          messages={[...(base.run === run ? ["The base is this run: nothing can differ."] : []), ...found.notes].map((text) => ({
            severity: "info",
            text,
          }))}
        />
        <Card
          title="What changed"
          help={
            `What each change adds to the average ${found.compared}; all rows add up to ${signedTime(found.length.delta ?? 0)}. ` +
            "Open a row (Enter, or a double click) for its links.\n" +
            "Per step and device that takes part. Where ops overlap, the first to begin counts. " +
            "Parts of the step as in the time budget, by function of the program or kind of op where the recordings tell; " +
            "waits for late devices by the device that is late.\n" +
            `${KINDS_HELP}\n` +
            "Source: trace, HLO."
          }
        >
          {changes.length === 0 ? (
            <p class="dim">{NO_CONTRIBUTIONS}</p>
          ) : (
            <>
              <FitTable
                data={tables.contributions}
                most={560}
                title=""
                fileName={`${file}_contributions`}
                store={tables.stores[0]}
                rowTools={(row) => <ChangeLinks page={page} found={found} change={changes[row]} onOpen={open} />}
              />
              {tables.contributions.columns.some(({ id, values }) => id === "percent" && values.some((share) => Number(share) > 100)) ? (
                <p class="dim">{OTHER_WAY}</p>
              ) : null}
            </>
          )}
        </Card>
        <Card
          title="Programs"
          class="compare-programs"
          help={
            "Compiled programs of both runs, by name, else by their ops.\nTimes per step and device that takes part.\nSource: trace, HLO."
          }
        >
          {found.programs.rowCount === 0 ? (
            <p class="dim">{NO_PROGRAMS}</p>
          ) : (
            <FitTable
              data={tables.programs}
              most={280}
              title=""
              fileName={`${file}_programs`}
              store={tables.stores[1]}
              show={rowOf("programs")}
            />
          )}
        </Card>
        <Card
          title="Ops"
          class="compare-ops"
          help={
            "Ops of the run with their counterparts in the base: the same opcode, shapes, framework op and source line, " +
            "else the same place or the same content. Files correspond by the ends of their paths, moved lines by what is on them.\n" +
            "Times per step and device that takes part; where ops overlap, the first to begin counts.\n" +
            "HLO Op Stats adds up all runs of an op, so its times differ where ops overlap.\n" +
            "Source: trace, HLO."
          }
        >
          {found.ops.rowCount === 0 ? (
            <p class="dim">{NO_PROGRAMS}</p>
          ) : (
            <FitTable data={tables.ops} most={420} title="" fileName={`${file}_ops`} store={tables.stores[2]} show={rowOf("ops")} />
          )}
        </Card>
        <div class="columns even">
          <Card
            title="Memory of programs"
            help={"Most memory that each program needs at once, with its arguments.\nSource: HLO, buffer assignment."}
          >
            {found.memory.rowCount === 0 ? (
              <p class="dim">{NO_MEMORY}</p>
            ) : (
              <FitTable data={tables.memory} most={280} title="" fileName={`${file}_memory`} store={tables.stores[3]} />
            )}
          </Card>
          <Card title="Environment" help="Properties of both runs.">
            <FitTable data={tables.environment} most={280} title="" fileName={`${file}_environment`} store={tables.stores[4]} />
          </Card>
        </div>
      </div>
    </div>
  );
}

interface LinksProps {
  page: PageProps;
  found: ComparedRuns;
  change: Change | undefined;
  onOpen: (target: Target) => void;
}

/** Where a change can be seen: in the timeline of the run, or of the base, and in the table that has the same number. */
function ChangeLinks({ page: { base }, found, change, onOpen }: LinksProps) {
  if (change === undefined) return null;
  const target = targetOf(change, found);
  const keysOf = (to: Target): Patch =>
    "part" in to ? toolPatch(BUDGET, null, [], { part: to.part, "t1.row": to.mark }) : { [`${STORES[to.table]}.row`]: to.mark };
  const gone = change.event === "" && base.run !== null;
  const event = change.event || change.baseEvent;
  return (
    <>
      {event === "" ? null : (
        <Link
          class="button ghost"
          to={{ ...toolPatch(TRACE, null, [], { find: event }), ...(gone ? { run: base.run, base: null } : {}) }}
          data-tip={`${event} in the trace viewer${gone ? " of the base" : ""}`}
        >
          Timeline
        </Link>
      )}
      {target === null ? null : (
        <Link class="button ghost" to={keysOf(target)} replace={!("part" in target)} onFollow={() => onOpen(target)}>
          {"part" in target ? "Time budget" : `Row in ${target.table}`}
        </Link>
      )}
    </>
  );
}

function useTables(found: ComparedRuns, { state }: PageProps) {
  const stores = useMemo(
    () => ["t1", "t2", "t3", "t4", "t5"].map((name, i) => (i === 0 ? hiding(storeAt(state, name), HIDDEN) : storeAt(state, name))),
    [state],
  );
  return useMemo(() => {
    const shown = (name: "contributions" | "programs" | "ops" | "memory" | "environment") => shownTable(found[name]);
    return {
      stores,
      contributions: shown("contributions"),
      programs: shown("programs"),
      ops: shown("ops"),
      memory: shown("memory"),
      environment: shown("environment"),
    };
  }, [found, stores]);
}

/** The compared time in both runs, the difference and its interval. */
function StepLine({ found }: { found: ComparedRuns }) {
  const { compared: of, length, floor_ps, base, run } = found;
  const interval = intervalOf(length.low, length.high);
  // Recordings without steps count as one each, and are compared only with each other.
  const whole = (base.recorded_steps === null || run.recorded_steps === null) && base.steps === 1 && run.steps === 1;
  const percent = percentOf(length);
  const noteOf = (count: number): string => (of === "execution" ? "per execution" : whole ? "whole recording" : plural(count, "step"));
  const items = [
    { name: "Base", value: formatTime(length.base), note: noteOf(base.steps) },
    { name: "Run", value: formatTime(length.run), note: noteOf(run.steps) },
    {
      name: "Difference",
      value: length.delta === null ? "-" : `${signedTime(length.delta)}${percent === null ? "" : ` (${percent})`}`,
      note:
        length.delta === null
          ? "unknown without steps on both sides"
          : whole || (of === "execution" && interval === null)
            ? "no interval without steps"
            : `${intervalText(interval)}${noiseText(found)}`,
    },
  ];
  return (
    <dl class="compare-figures">
      {items.map(({ name, value, note }) => (
        <div key={name}>
          <dt>
            {name}
            {name === "Difference" ? (
              <Info
                label="Difference"
                text={
                  `Run minus base, of the average ${of} over the devices that take part.\n` +
                  "The interval is Welch's, from the times of ordinary steps; steps far above the median count as recorded.\n" +
                  `Differences below ${formatTime(floor_ps)} count as noise: two captures of one program differ by as much.\n` +
                  "Source: trace."
                }
              />
            ) : null}
          </dt>
          <dd class="number">{value}</dd>
          <dd class="dim">{note}</dd>
        </div>
      ))}
    </dl>
  );
}

const page: PageModule = { ids: ["compare"], Page: ComparePage, compares: true };
export default page;
