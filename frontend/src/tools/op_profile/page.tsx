// Op profile: device time as a tree of ops, with their utilisation of the hardware.
import { useEffect, useMemo, useState } from "preact/hooks";
import { BaseLine, useComparedBase } from "../../page/compare/base_run";
import { documentOf } from "../../api/client";
import { useLimit } from "../../page/limit";
import { opRequest, overCores } from "../../page/op_request";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { usePerStep } from "../../page/compare/per_step";
import { fileNameOf, hostCount, toolPatch } from "../../page/page_state";
import { sourceLink } from "../../page/source_link";
import { formatPercent, formatTogether, plural } from "../../base/format";
import { FlameGraph } from "../../widgets/flame/flame";
import { Panel } from "../../widgets/status/panel";
import { SummaryBox } from "../../widgets/content/summary_box";
import type { Patch } from "../../widgets/content/link";
import { useLoad } from "../../widgets/status/use_load";
import "../../widgets/content/card.css";
import { against } from "./against";
import { adviceOf } from "./advice";
import { Card } from "./card";
import { Controls } from "./controls";
import { framesOf } from "./frames";
import { leaves } from "./formulas";
import { treesOf } from "./nodes";
import type { Trees } from "./nodes";
import { firstOpen, idOfOp, pathTo, visibleRows } from "./rows";
import { Tree } from "./tree";
import { OWN_KEYS, readView, writeView } from "./view_state";
import type { ViewState } from "./view_state";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

function OpProfilePage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const [view, setView] = useState(() => readView(state));
  useEffect(() => state.subscribe(() => setView(readView(state))), [state]);
  const change = (patch: Partial<ViewState>): void => state.set(writeView(patch), "replace");
  const params = opRequest(page, { group_by: view.groupBy });
  const answer = useLoad(JSON.stringify(params), async (signal) => treesOf(await documentOf(client, "op_profile", params, { signal })));
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Computing the op profile of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  if (answer.data.busy.time_ps <= 0)
    return <NoOps profile={answer.data} onAll={() => change({ unattributed: true })} asked={view.unattributed} />;
  const graphLink = (program: string, name: string): Patch =>
    toolPatch("graph_viewer", host, OWN_KEYS, { program_id: program, node_name: name });
  return (
    <Profile
      page={page}
      profile={answer.data}
      view={view}
      change={change}
      fileName={fileNameOf("op_profile", run, host)}
      graphLink={graphLink}
    />
  );
}

interface NoOpsProps {
  profile: Trees;
  /** Includes kernels without an op name. */
  onAll: () => void;
  asked: boolean;
}

function NoOps({ profile, onAll, asked }: NoOpsProps) {
  const { device } = profile;
  const nameless = device === "GPU" && !asked;
  const why = nameless
    ? "No kernel or copy of the GPU has an op name."
    : device === "CPU_ONLY" || device === ""
      ? "Neither a TPU or GPU nor an op of the CPU backend was recorded."
      : "A device was recorded, but no ops.";
  return (
    <Panel
      tone="empty"
      title="This profile contains no XLA ops"
      why={why}
      todo={[
        "Profile while the program runs on the device: warm it up first, then capture several steps.",
        "Programs that XLA does not compile have no HLO ops: see the framework op stats.",
        "Choose another host on the left: this one may have no devices.",
      ]}
    >
      {nameless ? (
        <button type="button" class="button" onClick={onAll}>
          Count kernels without an op
        </button>
      ) : null}
    </Panel>
  );
}

interface ProfileProps {
  page: PageProps;
  profile: Trees;
  view: ViewState;
  change: (patch: Partial<ViewState>) => void;
  fileName: string;
  graphLink: (program: string, name: string) => Patch;
}

function Profile({ page, profile, view: chosen, change, fileName, graphLink }: ProfileProps) {
  const { base, found } = useComparedBase(page, { read: treesOf, params: opRequest(page, { group_by: chosen.groupBy }) });
  const per = usePerStep(page, found);
  const shownTree = chosen.idle ? profile.whole : profile.busy;
  const other = base.data === null ? null : chosen.idle ? base.data.whole : base.data.busy;
  const joined = useMemo(() => (other === null ? null : against(shownTree, other, found, per.steps)), [shownTree, other, found, per.steps]);
  const root = joined?.root ?? shownTree;
  const basePs = joined?.basePs ?? null;
  const divided = joined !== null && per.steps !== null;
  const view = useMemo(() => ({ ...chosen, basePs }), [chosen, basePs]);
  const limit = useLimit(page);
  const advice = useMemo(() => adviceOf(profile, limit), [profile, limit]);
  const named = view.named;
  const pinned = useMemo(() => view.pinned ?? (named === null ? null : idOfOp(root, named)), [root, view.pinned, JSON.stringify(named)]);
  const time = useMemo(
    () =>
      formatTogether(
        [...leaves(root), ...root.children].map(({ time_ps }) => time_ps),
        "ps",
      ),
    [root],
  );
  const open = useMemo(
    () =>
      view.open ??
      new Set([
        ...firstOpen(root),
        ...pathTo(root, pinned ?? "")
          .slice(0, -1)
          .map(({ id }) => id),
      ]),
    [view.open, root, named === null],
  );
  const rows = useMemo(() => visibleRows(root, view, open, view.full), [root, view, open]);
  const [pointed, setPointed] = useState<string | null>(null);
  const shown = pinned ?? pointed;
  const node = useMemo(() => (shown === null ? null : (pathTo(root, shown).pop()?.node ?? null)), [root, shown]);
  const toggle = (id: string, wanted: boolean): void => {
    const next = new Set(open);
    if (wanted) next.add(id);
    else next.delete(id);
    change({ open: next });
  };
  const frames = useMemo(() => (view.flame ? framesOf(root, basePs) : null), [view.flame, root, basePs]);
  const { unattributed_share: unattributed, graphs } = profile.notes;
  return (
    <div class="opp">
      <div class="opp-head">
        <SummaryBox tone={advice.tone} title={advice.headline}>
          {advice.lines.map((line) => (
            <p key={line}>
              <RichText text={line} />
            </p>
          ))}
          {graphs ? <p>{graphs}</p> : null}
          {unattributed !== null && unattributed > 0 ? (
            <p>
              {formatPercent(unattributed * 100)} of the GPU time cannot be attributed to an op by launch or kernel name. It is shown as
              kernels without a program.
            </p>
          ) : null}
        </SummaryBox>
        <BaseLine page={page} answer={base} per={per} />
        <Controls
          view={view}
          root={root}
          basePs={basePs}
          perStep={divided}
          fileName={fileName}
          gpu={profile.device === "GPU"}
          change={change}
        />
      </div>
      <div class="opp-split">
        {frames !== null ? (
          <FlameGraph
            root={frames}
            unit="ps"
            what={divided ? "Time per step" : "Time"}
            fileName={fileName}
            state={{ get: (name) => page.state.get(name), set: (patch) => page.state.set(patch, "replace") }}
            placeLink={(place) => sourceLink(page.host, OWN_KEYS, place)}
          />
        ) : null}
        {frames === null ? (
          <Tree
            rows={rows}
            basePs={basePs}
            perStep={divided}
            time={time}
            root={root}
            idle={view.idle}
            over={overCores(profile.notes.cores)}
            open={open}
            pinned={pinned}
            onOpen={toggle}
            onFull={(id) => change({ full: new Set([...view.full, id]) })}
            onPin={(id) => change({ pinned: id === pinned ? null : id })}
            onPoint={setPointed}
          />
        ) : null}
        {node && frames === null ? (
          <Card
            node={node}
            root={root}
            device={profile.device}
            idle={view.idle}
            perStep={divided}
            time={time}
            onUnpin={pinned === null ? null : () => change({ pinned: null })}
            graphLink={graphLink}
            sourceLink={(place) => sourceLink(page.host, OWN_KEYS, place)}
          />
        ) : null}
      </div>
    </div>
  );
}

const page: PageModule = { ids: ["op_profile"], Page: OpProfilePage, compares: true, findings: ["hlo_stats", "roofline_model"] };
export default page;
