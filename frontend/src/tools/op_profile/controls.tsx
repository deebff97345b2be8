// The controls above the tree: grouping, order, number of children, idle time.
import { download } from "../../widgets/content/download";
import { toCsv } from "../../widgets/table/model/csv";
import { GROUPINGS } from "./nodes";
import type { Against } from "./against";
import type { TreeNode } from "./nodes";
import { treeTable } from "./rows";
import type { Order } from "./rows";
import { LIMITS } from "./view_state";
import type { ViewState } from "./view_state";

const GROUP_LABELS = { program: "Program", category: "Category", provenance: "Scope" } as const;
const GROUP_TIPS = {
  program: "Programs, then categories of ops",
  category: "Categories of ops",
  provenance: "Programs, then the framework's scopes",
} as const;
const EXCLUDED =
  "If excluded, shares and utilisation refer to the time in which ops ran, else to the observed time of the devices, " +
  "from the first op to the last.";
const ORDER_LABELS: Record<Order, string> = {
  time: "By time",
  wasted: "By wasted time",
  traffic: "By HBM bytes",
  difference: "By difference",
};

interface Props {
  view: ViewState;
  root: TreeNode;
  fileName: string;
  /** Whether there may be kernels without an op name. */
  gpu: boolean;
  /** Times in the base; null without one. */
  basePs: Against["basePs"] | null;
  /** Whether sums are per step. */
  perStep?: boolean;
  change: (patch: Partial<ViewState>) => void;
}

export function Controls({ view, root, fileName, gpu, basePs, perStep = false, change }: Props) {
  const save = (): void => {
    const table = treeTable(root, basePs);
    download(`${fileName}${perStep ? "_per_step" : ""}.csv`, toCsv(table.columns, Array(table.rowCount).keys()));
  };
  return (
    <div class="opp-controls" role="toolbar" aria-label="Tree options">
      <span class="segmented" role="group" aria-label="Group by">
        {GROUPINGS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={view.groupBy === one}
            data-tip={GROUP_TIPS[one]}
            onClick={() => change({ groupBy: one })}
          >
            {GROUP_LABELS[one]}
          </button>
        ))}
      </span>
      <span class="segmented" role="group" aria-label="Show as">
        {[false, true].map((flame) => (
          <button key={String(flame)} type="button" aria-pressed={view.flame === flame} onClick={() => change({ flame })}>
            {flame ? "Flame" : "Tree"}
          </button>
        ))}
      </span>
      {view.flame ? null : (
        <>
          <select
            class="field"
            aria-label="Order by"
            value={view.order}
            onChange={(e) => change({ order: e.currentTarget.value as Order })}
          >
            {(Object.keys(ORDER_LABELS) as Order[])
              .filter((order) => order !== "difference" || basePs !== null)
              .map((order) => (
                <option key={order} value={order}>
                  {ORDER_LABELS[order]}
                </option>
              ))}
          </select>
          <select
            class="field"
            aria-label="Children shown per node"
            value={view.limit}
            onChange={(e) => change({ limit: Number(e.currentTarget.value), full: new Set() })}
          >
            {LIMITS.map((limit) => (
              <option key={limit} value={limit}>
                Top {limit}
              </option>
            ))}
          </select>
          <label data-tip="On each level, show only the longest children that make up 90 % of their parent's time.">
            <input type="checkbox" checked={view.top90} onChange={(e) => change({ top90: e.currentTarget.checked, full: new Set() })} />
            Top 90%
          </label>
        </>
      )}
      <label data-tip={EXCLUDED}>
        <input type="checkbox" checked={!view.idle} onChange={(e) => change({ idle: !e.currentTarget.checked })} />
        Exclude idle
      </label>
      {gpu || view.unattributed ? (
        <label
          data-tip={
            "Include GPU kernels and copies without an op name (inside CUDA graphs, memory copies): under the op of their " +
            "launch or of the same kernel name, else as unattributed."
          }
        >
          <input type="checkbox" checked={view.unattributed} onChange={(e) => change({ unattributed: e.currentTarget.checked })} />
          All kernels
        </label>
      ) : null}
      <span class="opp-space dim">{view.flame ? "" : "Point at an op for its details"}</span>
      <button type="button" class="button ghost" data-tip="The whole tree with exact values" onClick={save}>
        CSV
      </button>
    </div>
  );
}
