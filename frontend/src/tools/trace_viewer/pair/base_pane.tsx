// The pane of a base above the timeline of the run: opens it, and offers where both are aligned.
import { useEffect, useState } from "preact/hooks";
import { ALL_HOSTS } from "../../../api/types";
import type { RunInfo } from "../../../api/types";
import { hostOfBase, useComparison } from "../../../page/compare/base_run";
import { documentOf } from "../../../api/client";
import { clocksText } from "../../../page/clocks";
import { explain } from "../../../page/failure/explain";
import type { PageProps } from "../../../page/page";
import { useKey } from "../../../page/use_key";
import { useLoad } from "../../../widgets/status/use_load";
import type { Session } from "../session/session";
import { Source } from "../session/source";
import { Pair } from "./pair";
import { fetchSteps } from "./steps";

/** The key of the address with the step at which both are aligned: its place from 0, or "start". */
const ALIGN = "align";
const START = "start";
/** The key of the address with what is added to the times of hosts. */
export const CLOCKS = "clocks";
/** More are not offered. */
const MOST_STEPS = 500;

interface Opened {
  pair: Pair | null;
  /** What is added to the times of the hosts of the base, as `Place.clocks`; null until it is known. */
  clocks: string | null;
  /** Why the base cannot be shown. */
  why: string | null;
}

/** The hosts of the base that correspond to the shown ones; null: one of them has none. */
function hostsOfBase(info: RunInfo, id: string, hosts: readonly string[]): string[] | null {
  const tool = info.tools.find((one) => one.id === id);
  if (!tool) return null;
  const baseHosts = hosts.map((host) => hostOfBase(tool, host));
  return baseHosts.every((host) => typeof host === "string") ? [...new Set(baseHosts)] : null;
}

/** Opens the base in `root` while it is chosen; `changed` is called after every change. */
export function usePair(
  props: PageProps,
  session: Session | null,
  root: { readonly current: HTMLDivElement | null },
  changed: () => void,
): Opened {
  const { run, base, client, tool, host, hosts, state } = props;
  const name = base.run;
  const chosen = hosts.length > 0 ? hosts : host === null ? [] : [host];
  const info = useLoad(name, (signal) => client.json<RunInfo>("run_info", { run: name }, { signal }));
  const theirs = info.data && hostsOfBase(info.data, tool.id, chosen);
  const comparison = useComparison(props);
  const clocks = useClocks(props);
  const [pair, setPair] = useState<Pair | null>(null);
  const align = useKey(state, ALIGN);
  useEffect(() => {
    if (!session || !root.current || name === null || !theirs || clocks.base === null) return undefined;
    const xprof = props.reading === "xprof";
    const sources = {
      run: new Source(client, { run, hosts: chosen, clocks: clocks.run, xprof }),
      base: new Source(client, { run: name, hosts: theirs, clocks: clocks.base, xprof }),
    };
    const made = new Pair(root.current, session, sources, changed);
    setPair(made);
    const stop = new AbortController();
    const readTheme = (): void => made.timeline.readTheme();
    const observer = new MutationObserver(readTheme);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    Promise.all([fetchSteps(client, run, chosen[0], stop.signal), fetchSteps(client, name, theirs[0], stop.signal)]).then(
      ([mine, others]) => {
        if (!stop.signal.aborted) made.setSteps(mine, others);
      },
      () => undefined, // the pane was closed
    );
    return () => {
      stop.abort();
      observer.disconnect();
      made.dispose();
      setPair(null);
    };
  }, [session, client, run, name, chosen.join(","), theirs?.join(","), clocks.run, clocks.base]);
  const common = pair ? Math.min(pair.steps.run.length, pair.steps.base.length) : 0;
  useEffect(() => {
    const place = align === START ? null : align === null ? 0 : Number(align);
    pair?.align(place !== null && Number.isInteger(place) && place >= 0 && place < common ? place : null);
  }, [pair, common, align]);
  useEffect(() => pair?.setComparison(comparison), [pair, comparison]);
  const why =
    name === null
      ? null
      : info.error !== null
        ? explain(info.error, { run: name }).why
        : info.data && !theirs
          ? "It has no host that corresponds to the shown ones."
          : null;
  return { pair, clocks: clocks.base, why };
}

/**
 * The clocks of both sides as the address and the base have them. Each capture has clocks of its own: where those of the run
 * are corrected, the base is shown with its own correction; as recorded if it has none.
 */
function useClocks({ base, client, state }: PageProps): { readonly run: string; readonly base: string | null } {
  const run = useKey(state, CLOCKS) ?? "";
  const name = run === "" ? null : base.run;
  const params = { run: name ?? "", host: ALL_HOSTS };
  const clocksAnswer = useLoad(name, async (signal) =>
    clocksText((await documentOf(client, "communication", params, { signal })).host_offsets_ps),
  );
  if (name === null || clocksAnswer.error !== null) return { run, base: "" };
  return { run, base: clocksAnswer.data };
}

/** The line above the base: its name, and where both are aligned. */
export function BaseBar({ page, pair, why }: { page: PageProps; pair: Pair | null; why: string | null }) {
  const { base, state } = page;
  const align = useKey(state, ALIGN);
  const common = pair ? Math.min(pair.steps.run.length, pair.steps.base.length, MOST_STEPS) : 0;
  const problem = why ?? (pair?.error ? explain(pair.error, { run: base.run ?? undefined }).why : null);
  const nameOf = (i: number): string => {
    const [mine, theirs] = [pair?.steps.run[i]?.name ?? "", pair?.steps.base[i]?.name ?? ""];
    const ownText = /^\d+$/.test(mine) ? `step ${mine}` : mine;
    return mine === theirs ? ownText : `${ownText} (base: ${theirs})`;
  };
  return (
    <p class={problem === null ? "tv-side-bar" : "tv-side-bar tv-bad"} role="status">
      <b>Base</b>
      <span class="tv-side-name">{base.run}</span>
      {problem === null ? null : <span>cannot be shown: {problem}</span>}
      <label class="tv-align">
        Aligned at
        <select
          class="field"
          value={align ?? (common > 0 ? "0" : START)}
          onChange={(event) => state.set({ [ALIGN]: event.currentTarget.value === "0" ? null : event.currentTarget.value }, "replace")}
        >
          <option value={START}>the start of the recordings</option>
          {Array.from({ length: common }, (_, i) => (
            <option key={i} value={String(i)}>
              {nameOf(i)}
            </option>
          ))}
        </select>
      </label>
      {pair?.why && pair.timeline.state.selection.length > 0 ? <span>{pair.why}</span> : null}
      <button type="button" class="tv-link" onClick={() => base.choose(null)}>
        Remove the base
      </button>
    </p>
  );
}
