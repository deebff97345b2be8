// What if: the average step without some of what it does, and what would limit it then.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { documentOf } from "../../api/client";
import { formatExact, formatPercent, formatTime, plural } from "../../base/format";
import type { StepWhatIf, TriedChange } from "../../base/documents";
import { FINDING_KEY } from "../../page/findings";
import { Pending } from "../../page/failure/pending";
import type { PageModule, PageProps } from "../../page/page";
import { fileNameOf, hostCount, storeAt } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { StepBars } from "../../widgets/chart/step_bars";
import { Card } from "../../widgets/content/card";
import { Info } from "../../widgets/content/info";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Callouts } from "../../widgets/status/callouts";
import { useLoad } from "../../widgets/status/use_load";
import { FitTable } from "../../widgets/table/fit_table";
import {
  EDIT_KEYS,
  FLAGS,
  FLAG_LABELS,
  barsOf,
  editOf,
  flagged,
  gainOf,
  headline,
  includes,
  isEmpty,
  keysOf,
  partsTable,
  rangeText,
  scaled,
  toggled,
  triedTable,
  without,
} from "./model";
import type { Edit } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

const NO_CHANGES: Edit = { places: [], flags: [] };
const FACTORS = [0, 0.25, 0.5, 0.75, 2];
const CONFIDENCE: Readonly<Record<string, string>> = {
  high: "The recording has the dependencies that the answer needs.",
  medium: "Some of what determines the step is not explained by the recording.",
  low: "Much of what determines the step is not explained by the recording.",
};

function WhatIfPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const values = EDIT_KEYS.map((key) => [key, useKey(state, key)] as const);
  const edit = useMemo(() => editOf(Object.fromEntries(values)), [JSON.stringify(values)]);
  const where = JSON.stringify([run, host]);
  const params = { run, tag: tool.id, host: host ?? undefined, ...keysOf(edit) };
  // The step as recorded is there at once, before anything is replayed.
  const first = { run, tag: tool.id, host: host ?? undefined, recorded_only: "true" };
  const wanted = useRef(isEmpty(edit) ? where : "").current === where;
  const recorded = useLoad(wanted ? JSON.stringify(first) : null, (signal) => documentOf(client, "what_if", first, { signal }));
  // Of a large recording nothing is replayed before it is asked for: a change, a finding's change, or the suggestions.
  const [asked, ask] = useState(!isEmpty(edit) || state.get(FINDING_KEY) !== null);
  useEffect(() => {
    if (!isEmpty(edit)) ask(true);
  }, [edit]);
  const replays = !wanted || recorded.error !== null || (recorded.data !== null && (asked || !recorded.data.large));
  const answer = useLoad(replays ? JSON.stringify(params) : null, (signal) => documentOf(client, "what_if", params, { signal }));
  // While other changes are replayed, the answer to the ones before stays.
  const last = useRef<{ where: string; found: StepWhatIf; edit: Edit } | null>(null);
  if (answer.data !== null) last.current = { where, found: answer.data, edit };
  const kept = last.current?.where === where && answer.error === null ? last.current : null;
  if (kept === null && recorded.data !== null && answer.error === null)
    return <Content page={page} found={recorded.data} edit={edit} shown={NO_CHANGES} busy={replays} pending onReplay={() => ask(true)} />;
  if (kept === null)
    return (
      <Pending answer={answer} page={page} what={`Replaying the steps of ${plural(hostCount(tool, host, hosts), "host")}`} rows={16} />
    );
  return <Content page={page} found={kept.found} edit={edit} shown={kept.edit} busy={answer.data === null} />;
}

interface ContentProps {
  page: PageProps;
  found: StepWhatIf;
  /** The changes in the address. */
  edit: Edit;
  /** Those that the answer is about. */
  shown: Edit;
  busy: boolean;
  /** Whether nothing was replayed yet. */
  pending?: boolean;
  onReplay?: () => void;
}

function Content({ page, found, edit, shown, busy, pending = false, onReplay }: ContentProps) {
  const { run, host, state } = page;
  const finding = useKey(state, FINDING_KEY);
  const asked = finding === null ? undefined : found.tried.find((one) => one.finding === finding);
  const choose = (next: Edit): void => state.set(keysOf(next), "push");
  useEffect(() => {
    // A link from a finding opens its change; it is then in the address itself.
    if (asked !== undefined && isEmpty(edit) && Object.keys(asked.keys).length > 0)
      state.set({ ...keysOf(editOf(asked.keys)), [FINDING_KEY]: null }, "replace");
  }, [asked]);
  const bars = useMemo(() => barsOf(found, !isEmpty(shown)), [found, shown]);
  const parts = useMemo(() => partsTable(found), [found]);
  const tried = useMemo(() => triedTable(found), [found]);
  const stores = useMemo(() => ["t1", "t2", "t3"].map((name) => storeAt(state, name)), [state]);
  const file = fileNameOf("what_if", run, host);
  const { tone, title } = headline(found, shown, pending);
  const { after } = found;
  return (
    <div class="tool-page">
      <div class="tool-page-body what-if">
        <SummaryBox tone={tone} title={title}>
          {pending ? null : after === null ? (
            <p>
              <RichText text={found.remedy} />
            </p>
          ) : (
            <Figures found={found} edited={!isEmpty(shown)} />
          )}
          <StepBars bars={bars} of={found.base} label={`The average ${found.base} by category, before and after the changes`} />
        </SummaryBox>
        <Callouts
          messages={[
            ...(asked !== undefined && asked.cannot !== ""
              ? [{ severity: "warning" as const, text: `${asked.title}. ${asked.cannot}` }]
              : []),
            ...(after?.reasons ?? []).map((text) => ({ severity: "info" as const, text })),
            ...found.notes.map((text) => ({ severity: "info" as const, text })),
          ]}
        />
        <Card
          title="Changes"
          help={
            "What takes no time, or less; several changes add up. The address holds them.\n" +
            "A place is a function, an event, an op, a kind of op, a program or a line of source; what a function launches goes with it."
          }
        >
          <Changes found={found} edit={edit} choose={choose} busy={busy} />
        </Card>
        <Card
          title="Worth a try"
          help={
            "Changes that findings and the largest parts of the step suggest, each replayed alone: what the step gains. " +
            "A click adds a change, another removes it.\n" +
            "Gains do not add up to the gain of several changes.\nSource: estimate."
          }
        >
          {pending && busy ? (
            <p class="dim">Replaying the changes that findings and the largest parts of the step suggest…</p>
          ) : pending ? (
            <p>
              <button type="button" class="button" onClick={onReplay}>
                Replay the suggestions
              </button>{" "}
              <span class="dim">This recording is large: what findings and the largest parts of the step suggest takes seconds.</span>
            </p>
          ) : (
            <Tried found={found} edit={edit} choose={choose} asked={asked} />
          )}
        </Card>
        {after === null ? null : (
          <div class="columns even">
            <Card
              title={isEmpty(shown) ? "What limits the step" : "What limits the step then"}
              help={
                "The chain of work in which each begins when the one before ends, from the begin of the steps to their end. " +
                "Making anything else faster gains nothing.\n" +
                "Source: trace, estimate."
              }
            >
              <FitTable data={after.limits} most={320} title="Limits" fileName={`${file}_limits`} store={stores[0]} />
            </Card>
            <Card title="Parts of the step" help={"What of each part of the time budget is left.\nSource: trace, estimate."}>
              <FitTable data={parts} most={320} title="Parts" fileName={`${file}_parts`} store={stores[1]} />
            </Card>
          </div>
        )}
        {found.tried.length === 0 ? null : (
          <Card title="All that was tried" help={"The suggestions as a table, with their intervals.\nSource: estimate."}>
            <FitTable data={tried} most={320} title="Tried" fileName={`${file}_tried`} store={stores[2]} />
          </Card>
        )}
      </div>
    </div>
  );
}

/** The interval, if there is one, and the median. */
function afterNote({ parts, low_ps, high_ps }: NonNullable<StepWhatIf["after"]>): string {
  return [rangeText(low_ps, high_ps), `median ${formatTime(parts.median_ps ?? 0)}`].filter((text) => text !== "").join("; ");
}

/** Before, after, gain and confidence. */
function Figures({ found, edited }: { found: StepWhatIf; edited: boolean }) {
  const { before, after } = found;
  if (after === null) return null;
  const gained = before.length_ps - after.parts.length_ps;
  const items = [
    {
      name: "Before",
      value: before.length_ps,
      text: formatTime(before.length_ps),
      note: `average ${found.base}; median ${formatTime(before.median_ps ?? 0)}`,
    },
    ...(edited
      ? [
          { name: "After", value: after.parts.length_ps, text: formatTime(after.parts.length_ps), note: afterNote(after) },
          { name: "Gain", value: gained, text: formatTime(gained), note: `${formatPercent(100 * gainOf(found))} of the ${found.base}` },
        ]
      : []),
  ];
  return (
    <dl class="what-if-figures">
      {items.map(({ name, value, text, note }) => (
        <div key={name}>
          <dt>
            {name}
            {name === "After" ? (
              <Info
                label={name}
                text={
                  "The average step, replayed: each piece of work begins when what it depends on has ended.\n" +
                  "The interval is from ops of a CPU that share one core to ops with cores of their own; elsewhere there is none.\nSource: estimate."
                }
              />
            ) : null}
          </dt>
          <dd class="number" data-tip={formatExact(value / 1e9, "ms")}>
            {text}
          </dd>
          <dd class="dim">{note}</dd>
        </div>
      ))}
      <div>
        <dt>Confidence</dt>
        <dd class="number" tabIndex={0} data-tip={CONFIDENCE[after.confidence]}>
          {after.confidence}
        </dd>
        <dd class="dim">{after.reasons.length ? plural(after.reasons.length, "reason") + " below" : "nothing against it"}</dd>
      </div>
    </dl>
  );
}

interface EditProps {
  found: StepWhatIf;
  edit: Edit;
  choose: (next: Edit) => void;
}

function Changes({ found, edit, choose, busy }: EditProps & { busy: boolean }) {
  const [text, setText] = useState("");
  const add = (event: Event): void => {
    event.preventDefault();
    const place = text.replace(/;/g, " ").trim();
    if (place === "") return;
    choose(scaled(edit, place, 0));
    setText("");
  };
  return (
    <div class="what-if-changes">
      <div class="what-if-flags">
        {FLAGS.map((flag) => (
          <label key={flag} data-tip={FLAG_LABELS[flag].help}>
            <input
              type="checkbox"
              name={flag}
              checked={edit.flags.includes(flag)}
              onChange={(event) => choose(flagged(edit, flag, event.currentTarget.checked))}
            />
            {FLAG_LABELS[flag].name}
          </label>
        ))}
      </div>
      {edit.places.length ? (
        <ul class="what-if-places">
          {edit.places.map(({ place, factor }) => (
            <Place key={place} place={place} factor={factor} found={found} edit={edit} choose={choose} />
          ))}
        </ul>
      ) : null}
      <form class="what-if-add" onSubmit={add}>
        <input
          class="field"
          value={text}
          placeholder="train.py:54 load_batch, fusion, jit_step, …"
          aria-label="A function, event, op, kind of op, program or line of source"
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="button" disabled={text.trim() === ""}>
          Leave out
        </button>
        {isEmpty(edit) ? null : (
          <button type="button" class="button ghost" onClick={() => choose(NO_CHANGES)}>
            Remove all changes
          </button>
        )}
        <span class="dim what-if-busy" role="status" aria-busy={busy}>
          {busy ? "Replaying…" : ""}
        </span>
      </form>
    </div>
  );
}

/** A place of the changes: how much of its time stays, and names that are near if nothing is called so. */
function Place({ place, factor, found, edit, choose }: EditProps & { place: string; factor: number }) {
  const missing = found.unknown.find((one) => one.place === place);
  const factors = FACTORS.includes(factor) ? FACTORS : [...FACTORS, factor].sort((a, b) => a - b);
  return (
    <li class={missing ? "missing" : undefined}>
      <code data-tip={place}>{place}</code>
      <select
        class="field"
        aria-label={`Time of ${place}`}
        value={String(factor)}
        onChange={(event) => choose(scaled(edit, place, Number(event.currentTarget.value)))}
      >
        {factors.map((one) => (
          <option key={one} value={String(one)}>
            {one === 0 ? "takes no time" : `takes ${one} times as long`}
          </option>
        ))}
      </select>
      <button type="button" class="button ghost icon" aria-label={`Remove ${place}`} onClick={() => choose(without(edit, place))}>
        ✕
      </button>
      {missing ? (
        <span class="what-if-near">
          Nothing in the recording is called so{missing.near.length ? "; near:" : "."}{" "}
          {missing.near.map((name) => (
            <button key={name} type="button" class="link" onClick={() => choose(scaled(without(edit, place), name, factor))}>
              {name}
            </button>
          ))}
        </span>
      ) : null}
    </li>
  );
}

/** The suggestions: a click adds the change, another removes it. */
function Tried({ found, edit, choose, asked }: EditProps & { asked: TriedChange | undefined }) {
  if (found.tried.length === 0)
    return <p class="dim">No finding or part of the step suggests a change that would make it shorter by 0.1% or more.</p>;
  const most = Math.max(...found.tried.map((one) => one.gain_ps ?? 0), 1);
  return (
    <ul class="what-if-tried">
      {found.tried.map((one) => {
        const known = Object.keys(one.keys).length > 0;
        const share = found.before.length_ps > 0 ? (100 * (one.gain_ps ?? 0)) / found.before.length_ps : 0;
        const range = one.low_ps === null || one.high_ps === null ? "" : rangeText(one.low_ps, one.high_ps);
        return (
          <li key={`${one.finding}${one.label}`} class={one === asked ? "chosen" : undefined}>
            <button
              type="button"
              aria-pressed={includes(edit, one.keys)}
              disabled={!known}
              data-tip={
                [one.label, one.title, one.cannot, range === "" ? "" : `Gain: ${range}`].filter((line) => line !== "").join("\n") ||
                undefined
              }
              onClick={() => choose(toggled(edit, one.keys))}
            >
              <span class="what-if-gain" aria-hidden="true">
                <i style={{ width: `${Math.max(0, (100 * (one.gain_ps ?? 0)) / most)}%` }} />
              </span>
              <span class="number">{one.gain_ps === null ? "-" : formatPercent(share)}</span>
              <span class="number dim">{one.gain_ps === null ? "unknown" : formatTime(one.gain_ps)}</span>
              <span class="what-if-label">
                <span class="what-if-name">{one.label || one.title}</span>
                {one.finding === "" ? null : <span class="dim">{one.label === "" ? one.cannot : one.title}</span>}
              </span>
              <span class="dim what-if-confidence">{one.confidence === "" ? "" : `${one.confidence} confidence`}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

const page: PageModule = { ids: ["what_if"], Page: WhatIfPage };
export default page;
