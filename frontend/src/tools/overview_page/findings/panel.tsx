// The panel of findings: what each could save, the evidence as links to the views that show it, advice, and the checks without a finding.
import { useContext, useEffect, useRef } from "preact/hooks";
import { CAPTURE_TOOL, CaptureAgain } from "../../../page/capture_again";
import { availableTool, evidenceKeys, FINDING_KEY } from "../../../page/findings";
import { explain } from "../../../page/failure/explain";
import { useKey } from "../../../page/use_key";
import { PART_KEY } from "../../../page/page";
import { formatExact, formatTime, plural } from "../../../base/format";
import { lookOf } from "../../../base/steps/step_category";
import type { Check, Finding, FindingSegment, Proof, RunFindings } from "../../../base/documents";
import { swatchStyle } from "../../../widgets/chart/style";
import { useTheme } from "../../../widgets/chart/use_theme";
import { Card } from "../../../widgets/content/card";
import { Info } from "../../../widgets/content/info";
import { InEditor } from "../../../widgets/content/in_editor";
import { Link } from "../../../widgets/content/link";
import { RichText } from "../../../widgets/content/rich_text";
import { Progress, useWaitStep } from "../../../widgets/status/loading";
import type { Loaded } from "../../../widgets/status/use_load";
import { checksOf, evidenceText, firstSentence, foundText, gainOf, gainProofs, opsOf, placeOf } from "./model";
import type { OpOfFinding } from "./model";
import type { PartProps } from "../part";

const HELP =
  "Causes of lost time or memory, the most costly first.\n" +
  "Time that could be saved at most, of the part of the time budget that it lies in; per step and device.\n" +
  "Source: trace, HLO.";
const CONFIDENCE: Readonly<Record<Finding["confidence"], string>> = {
  high: "Events show cause and effect.",
  medium: "The cause is inferred from the events.",
  low: "A possible cause that the profile cannot confirm.",
};

interface Props extends PartProps {
  answer: Loaded<RunFindings>;
}

export function FindingsPanel({ answer, ...part }: Props) {
  const { data, error, reload } = answer;
  return (
    <Card title="Findings" help={HELP} class="findings">
      {data ? <Found found={data} {...part} /> : error !== null ? <Failed error={error} reload={reload} page={part.page} /> : <Looking />}
    </Card>
  );
}

function Looking() {
  const step = useWaitStep();
  const progress = useContext(Progress);
  return (
    <p class="dim findings-wait" role="status" aria-busy="true">
      {step > 0 ? `Looking for causes of lost time${progress === null ? "" : `: ${progress}`}…` : "\u00a0"}
    </p>
  );
}

function Failed({ error, reload, page }: { error: unknown; reload: () => void; page: PartProps["page"] }) {
  const { title, why } = explain(error, { run: page.run, tool: page.tool.id, host: page.host });
  return (
    <div class="findings-failed" role="alert">
      <p>
        <strong>The findings are missing.</strong> {title}: {why}
      </p>
      <button type="button" class="button" onClick={reload}>
        Try again
      </button>
    </div>
  );
}

function Found({ found, ...part }: PartProps & { found: RunFindings }) {
  const text = foundText(found);
  return (
    <>
      {text ? <p>{text}</p> : null}
      {found.findings.length ? (
        <ol class="findings-list">
          {found.findings.map((one, i) => (
            <FindingItem
              key={one.id}
              {...part}
              one={one}
              base={found.base}
              open={i === 0}
              titled={i === 0 && one.title === found.headline.title}
            />
          ))}
        </ol>
      ) : null}
      <Silent silent={found.silent} />
    </>
  );
}

interface ItemProps extends Omit<PartProps, "open"> {
  one: Finding;
  base: string;
  /** The finding is open; the others open at a click. */
  open: boolean;
  /** The title stands above as the headline of the page. */
  titled: boolean;
}

/** Advice of more words is long. */
const LONG = 42;

/** What to do; if it is long, or of a finding without a saving, which asks more than it tells, the rest after the first sentence on demand. */
function Advice({ text, asks }: { text: string; asks: boolean }) {
  const [first, rest] = asks || text.split(/\s+/).length > LONG ? firstSentence(text) : [text, ""];
  return (
    <div class="finding-advice">
      <p>
        <RichText text={first} />
      </p>
      {rest ? (
        <details>
          <summary>{asks ? "What to ask" : "What else helps"}</summary>
          <p>
            <RichText text={rest} />
          </p>
        </details>
      ) : null}
    </div>
  );
}

function FindingItem({ one, base, open, titled, page, tools, keys, overview }: ItemProps) {
  const chosen = useKey(page.state, FINDING_KEY) === one.id;
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!chosen) return;
    item.current?.scrollIntoView?.({ block: "center" });
    item.current?.focus({ preventScroll: true });
  }, [chosen]);
  const told = gainProofs(one);
  const evidence = one.evidence.filter((proof) => proof !== told.saving && proof !== told.share);
  const some = one.hosts.length > 0 && one.hosts.length < overview.environment.hosts;
  const content = (
    <>
      <p class="finding-gain">
        <GainOf one={one} base={base} here={page.tool.id} tools={tools} keys={keys} />
        <span class={`finding-confidence ${one.confidence}`} tabIndex={0} data-tip={CONFIDENCE[one.confidence]}>
          {one.confidence} confidence
        </span>
        {some ? (
          <span class="dim">
            on {one.hosts.slice(0, 3).join(", ")}
            {one.hosts.length > 3 ? ` and ${plural(one.hosts.length - 3, "more host")}` : ""}
          </span>
        ) : null}
        {one.saving_ps_per_step > 0 && tools.has(WHAT_IF) ? (
          <Link to={keys(WHAT_IF, { [FINDING_KEY]: one.id })} class="link finding-what-if" data-tip="The step without it, replayed">
            What would it gain?
          </Link>
        ) : null}
        {one.help ? <Info text={one.help} label={one.id} /> : null}
      </p>
      <Advice text={one.advice} asks={one.saving_ps_per_step <= 0} />
      {evidence.length ? (
        <ul class="finding-evidence">
          {evidence.map((proof) => (
            <li key={`${proof.label}${proof.value}`}>
              <Evidence proof={proof} here={page.tool.id} tools={tools} keys={keys} />
            </li>
          ))}
        </ul>
      ) : null}
      {opsOf(one).map((op) => (
        <OpText key={op.text} {...op} tools={tools} keys={keys} />
      ))}
    </>
  );
  const head = (
    <h3>
      <RichText text={one.title} />
    </h3>
  );
  return (
    <li ref={item} class={chosen ? "finding chosen" : "finding"} tabIndex={-1} data-finding={one.id} aria-label={one.title}>
      {open ? (
        <>
          {titled ? null : head}
          {content}
        </>
      ) : (
        <details open={chosen}>
          <summary>{head}</summary>
          {content}
        </details>
      )}
    </li>
  );
}

type Leads = Pick<PartProps, "tools" | "keys"> & { here: string };

/** What the finding could save, and the segments that it lies in; numbers that another page has lead there. */
function GainOf({ one, base, ...leads }: Leads & { one: Finding; base: string }) {
  const gain = gainOf(one, base);
  const told = gainProofs(one);
  if (gain === null)
    return (
      <>
        {told.saving ? (
          <span class="number">
            <Led {...leads} proof={told.saving} text={evidenceText(told.saving)} />
            {told.share ? (
              <>
                , <Led {...leads} proof={told.share} text={evidenceText(told.share)} />
              </>
            ) : null}
          </span>
        ) : null}
        <span class="dim">no direct cost</span>
      </>
    );
  return (
    <>
      <span class="finding-bar" aria-hidden="true">
        <i class={gain.severity} style={{ width: `${Math.min(100, 100 * one.share)}%` }} />
      </span>
      <span class="number finding-saving" tabIndex={0} data-tip={`${formatExact(one.saving_ps_per_step / 1e9, "ms")}\n${one.formula}`}>
        <Led {...leads} proof={told.saving} text={gain.saving} />
      </span>
      {one.segments.map((segment) => (
        <SegmentLink key={segment.id} segment={segment} />
      ))}
      <b class="number">
        <Led {...leads} proof={told.share} text={gain.share} />
      </b>
    </>
  );
}

/** A number of the gain, with the way to the page of the evidence that has it. */
function Led({ proof, text, here, tools, keys }: Leads & { proof: Proof | null; text: string }) {
  const tool = proof === null || proof.tool === CAPTURE_TOOL ? null : availableTool(tools, proof.tool);
  if (proof === null || tool === null || tool === here) return <>{text}</>;
  return (
    <Link to={keys(tool, evidenceKeys(proof))} class="link finding-proof" data-tip={`${proof.label}\nOpen: ${tools.get(tool) ?? tool}`}>
      {text}
    </Link>
  );
}

/** A segment of the bar at the top, which a click marks there. */
function SegmentLink({ segment: { id, name, ps } }: { segment: FindingSegment }) {
  const theme = useTheme();
  const { colour, striped } = lookOf(id);
  return (
    <Link to={{ [PART_KEY]: id }} replace class="link finding-segment" data-part={id} data-tip={`${name}: ${formatTime(ps)}`}>
      <i class="swatch" style={swatchStyle(colour, theme, striped)} /> {name}
    </Link>
  );
}

/** The HLO text of an op that evidence is about, and the way to its line of code. */
function OpText({ text, place, host, tools, keys }: Pick<PartProps, "tools" | "keys"> & OpOfFinding) {
  return (
    <details class="finding-op">
      <summary>HLO instruction</summary>
      <code>{text}</code>{" "}
      {place !== null && tools.has(SOURCE) ? (
        <Link to={keys(SOURCE, { line: place, ...(host === undefined ? {} : { host }) })} class="link finding-source" data-tip={place}>
          {place.replace(/^.*\//, "")}
        </Link>
      ) : null}{" "}
      {place === null ? null : <InEditor place={place} />}
    </details>
  );
}

/** A piece of evidence; beside a line of code that it names, the way to the page of that line. */
function Evidence(props: Pick<PartProps, "tools" | "keys"> & { proof: Proof; here: string }) {
  const { proof, tools, keys } = props;
  const host = proof.query["host"];
  const place = placeOf(proof);
  const isLine = place !== null && place.endsWith(String(proof.value));
  return (
    <>
      <Shown {...props} />
      {isLine && tools.has(SOURCE) ? (
        <>
          {" "}
          <Link to={keys(SOURCE, { line: place, ...(host === undefined ? {} : { host }) })} class="link finding-source">
            {tools.get(SOURCE)}
          </Link>
        </>
      ) : null}
      {isLine ? (
        <>
          <InEditor place={place} />
        </>
      ) : null}
    </>
  );
}

const [SOURCE, WHAT_IF] = ["source_view", "what_if"];

/** A link if the run has the page that shows it, and that is another one. */
function Shown({ proof, here, tools, keys }: Pick<PartProps, "tools" | "keys"> & { proof: Proof; here: string }) {
  const text = (
    <>
      <span>{proof.label}:</span>{" "}
      <b class="number" data-exact={formatExact(proof.value, proof.unit)}>
        {evidenceText(proof)}
      </b>
    </>
  );
  if (proof.tool === CAPTURE_TOOL) return <CaptureAgain query={proof.query} />;
  const tool = availableTool(tools, proof.tool);
  if (tool === null || tool === here) return <span class="finding-proof">{text}</span>;
  return (
    <Link to={keys(tool, evidenceKeys(proof))} class="link finding-proof" data-tip={`Open: ${tools.get(tool) ?? tool}`}>
      {text}
    </Link>
  );
}

const MARKS: Readonly<Record<Check["state"], { text: string; tip: string } | null>> = {
  passed: null,
  unknown: { text: "not possible", tip: "The recording lacks what this check needs." },
  failed: { text: "failed", tip: "This check met an error of the profiler; the others are not affected." },
};

function Silent({ silent }: { silent: readonly Check[] }) {
  if (silent.length === 0) return null;
  const { text, checks } = checksOf(silent);
  return (
    <details class="findings-silent">
      <summary>{text}</summary>
      <dl>
        {checks.map((one) => (
          <CheckLine key={one.id} {...one} />
        ))}
      </dl>
    </details>
  );
}

function CheckLine({ id, looks_for, reason, state, help }: Check) {
  const mark = MARKS[state];
  return (
    <div data-check={id}>
      <dt>
        <RichText text={looks_for} />
        {help ? <Info text={help} label={id} /> : null}
        {mark === null ? null : (
          <span class="not-known" tabIndex={0} data-tip={mark.tip}>
            {mark.text}
          </span>
        )}
      </dt>
      <dd>
        <RichText text={state === "failed" ? `Check failed: ${id}. ${reason}` : reason} />
      </dd>
    </div>
  );
}
