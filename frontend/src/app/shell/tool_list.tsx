// The tools of a run by group; tools without data are shown disabled, with the reason.
import { useEffect, useRef } from "preact/hooks";
import type { ToolInfo } from "../../api/types";
import { moveIndex } from "../../base/keys";
import { Icon } from "../icons";
import { groupTools } from "../address/view";

interface Props {
  tools: readonly ToolInfo[];
  current: string | null;
  /** Show icons only, with the names in tooltips. */
  narrow: boolean;
  onChoose: (id: string) => void;
}

export function ToolList({ tools, current, narrow, onChoose }: Props) {
  const onKey = (event: KeyboardEvent): void => {
    if (!(event.currentTarget instanceof HTMLElement)) return;
    const buttons = [...event.currentTarget.querySelectorAll("button")];
    const next = moveIndex(event.key, buttons.indexOf(event.target as HTMLButtonElement), buttons.length, buttons.length);
    if (next === null) return;
    event.preventDefault();
    buttons[next]?.focus();
  };
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="page"]')?.scrollIntoView?.({ block: "nearest" });
  }, [current]);
  return (
    <nav ref={list} class="tools" aria-label="Tools" onKeyDown={onKey}>
      {groupTools(tools).map(([group, list]) => (
        <div key={group} class="tool-group" role="group" aria-label={group}>
          <h3>{narrow ? "" : group}</h3>
          {list.map((tool) => (
            <ToolButton key={tool.id} tool={tool} current={tool.id === current} narrow={narrow} onChoose={onChoose} />
          ))}
        </div>
      ))}
    </nav>
  );
}

function ToolButton({
  tool,
  current,
  narrow,
  onChoose,
}: {
  tool: ToolInfo;
  current: boolean;
  narrow: boolean;
  onChoose: (id: string) => void;
}) {
  const reason = tool.available ? null : (tool.reason ?? "No data in this session.");
  const tip = [narrow ? tool.title : null, reason ?? tool.summary].filter(Boolean).join("\n");
  return (
    <button
      type="button"
      class={tool.available ? "tool" : "tool off"}
      aria-current={current ? "page" : undefined}
      aria-label={reason === null ? tool.title : `${tool.title}, no data: ${reason}`}
      data-tool={tool.id}
      data-tip={tip || undefined}
      onClick={() => onChoose(tool.id)}
    >
      <Icon name={tool.id} fallback={tool.group} />
      {narrow ? null : <span>{tool.title}</span>}
    </button>
  );
}
