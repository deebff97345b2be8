// Tools, views and exports above the timeline.
import { Popover } from "../../../widgets/overlay/popover";
import { showAll } from "../../../timeline/state/navigation";
import { TOOLS } from "../../../timeline/input/input";
import type { Tool } from "../../../timeline/input/input";
import { FilterMenu } from "./filter_menu";
import { SearchBox } from "./search_box";
import type { Session } from "../session/session";
import { FloatIcon, ToolIcon } from "./tool_icon";

export const TOOL_LABELS: Readonly<Record<Tool, { readonly name: string; readonly key: string; readonly does: string }>> = {
  select: { name: "Select", key: "1", does: "Click an event, or drag a rectangle over many" },
  pan: { name: "Pan", key: "2", does: "Drag in both directions" },
  zoom: { name: "Zoom", key: "3", does: "Drag up to zoom in, down to zoom out" },
  timing: { name: "Timing", key: "4", does: "Drag to measure an interval; click clears it" },
};

interface Props {
  session: Session;
  tab: string | null;
  floating: boolean;
  /** Opens a tab of the pane, or closes it. */
  onTab: (tab: string) => void;
  /** Shows the binding path, or hides it. */
  onPath: () => void;
  onFloat: () => void;
  onHelp: () => void;
  actions: readonly { readonly label: string; readonly run: () => void }[];
}

/** The four tools as a group of toggle buttons. */
export function ToolButtons({ session, floating = false }: { session: Session; floating?: boolean }) {
  const active = session.timeline.machine.tool;
  return (
    <div class={floating ? "tv-tools tv-tools-floating" : "tv-tools"} role="group" aria-label="Mouse tools">
      {TOOLS.map((tool) => {
        const { name, key, does } = TOOL_LABELS[tool];
        return (
          <button
            key={tool}
            type="button"
            class="button tv-tool"
            aria-pressed={tool === active}
            aria-label={`${name} (${key})`}
            data-tip={`${name} (${key}): ${does}`}
            onClick={() => session.timeline.chooseTool(tool)}
          >
            <ToolIcon tool={tool} />
            {floating ? null : <span class="tv-tool-name">{name}</span>}
          </button>
        );
      })}
    </div>
  );
}

export function Toolbar({ session, tab, floating, onTab, onPath, onFloat, onHelp, actions }: Props) {
  const { timeline } = session;
  return (
    <div class="tv-toolbar" role="toolbar" aria-label="Timeline">
      {floating ? null : <ToolButtons session={session} />}
      <button
        type="button"
        class="button ghost icon"
        aria-pressed={floating}
        data-tip={floating ? "Move the tools back to the toolbar" : "Float the tools over the timeline"}
        aria-label="Float the tools"
        onClick={onFloat}
      >
        <FloatIcon />
      </button>
      <button type="button" class="button" data-tip="Show the whole recording (0 or Z)" onClick={() => timeline.apply(showAll)}>
        Whole
      </button>
      <SearchBox session={session} />
      <span class="tv-space" />
      <button
        type="button"
        class="button"
        aria-pressed={tab === "gaps"}
        data-tip="List the longest times without a running op (G)"
        onClick={() => onTab("gaps")}
      >
        Gaps
      </button>
      <button
        type="button"
        class="button"
        aria-pressed={session.binding.on}
        aria-label="Binding path (B)"
        data-tip="Show what determines the length of each step (B)"
        onClick={onPath}
      >
        Path
      </button>
      <FilterMenu session={session} />
      <button
        type="button"
        class="button"
        aria-pressed={tab === "visible"}
        data-tip="List the visible events as a table"
        onClick={() => onTab("visible")}
      >
        Table
      </button>
      <Popover label="Share ▾" title="Link, image, files" popup="menu" boxClass="tv-menu-box">
        {(close) => (
          <div role="menu" class="tv-menu">
            {actions.map(({ label, run }) => (
              <button
                key={label}
                type="button"
                role="menuitem"
                class="button ghost"
                onClick={() => {
                  close();
                  run();
                }}
              >
                {label}
              </button>
            ))}
          </div>
        )}
      </Popover>
      <button type="button" class="button icon" aria-label="Keys and mouse (?)" data-tip="Keys and mouse (?)" onClick={onHelp}>
        ?
      </button>
    </div>
  );
}
