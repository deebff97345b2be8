// Legend of the node borders, which differ by mark and line style as well as by colour.
import { ROLES } from "../model";
import type { Role } from "./tree";

const CLASSES: Readonly<Record<Role, string>> = { 2: "tfd-node critical bottleneck", 1: "tfd-node critical", 0: "tfd-node" };

export function Legend({ grouped, opened, onGroup }: { grouped: number; opened: boolean; onGroup: () => void }) {
  return (
    <ul class="legend tfd-legend">
      {([2, 1, 0] as const).map((role) => (
        <li key={role} data-tip={ROLES[role].help}>
          <svg class="tfd-key-box" width="26" height="16" aria-hidden="true">
            <g class={CLASSES[role]}>
              <rect class="tfd-frame" x="3" y="3" width="20" height="10" rx="2" />
            </g>
          </svg>
          {ROLES[role].mark}
        </li>
      ))}
      <li class="dim">Bar behind the self duration: its share of the largest.</li>
      {grouped > 0 ? <li class="dim">{grouped} similar iterators are grouped; click a group to expand it.</li> : null}
      {opened ? (
        <li>
          <button type="button" class="link" onClick={onGroup}>
            Group similar iterators
          </button>
        </li>
      ) : null}
    </ul>
  );
}
