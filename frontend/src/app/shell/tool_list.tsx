// The tools of a run by group, as links; those without data are folded at the end, with the reasons.
import { useEffect, useRef } from "preact/hooks";
import type { ToolInfo } from "../../api/types";
import { moveIndex } from "../../base/keys";
import { Link } from "../../widgets/content/link";
import { RichText } from "../../widgets/content/rich_text";
import type { Patch } from "../../widgets/content/link";
import { Icon } from "../icons";
import { groupTools } from "../address/view";

interface Props {
  tools: readonly ToolInfo[];
  current: string | null;
  /** Show icons only, with the names in tooltips. */
  narrow: boolean;
  toolKeys: (id: string) => Patch;
}

export function ToolList({ tools, current, narrow, toolKeys }: Props) {
  const onKey = (event: KeyboardEvent): void => {
    if (!(event.currentTarget instanceof HTMLElement)) return;
    // Links of the folded group have no box.
    const items = [...event.currentTarget.querySelectorAll<HTMLElement>("a, summary")].filter(
      (one) => one.tagName === "SUMMARY" || !one.closest("details:not([open])"),
    );
    const next = moveIndex(event.key, items.indexOf(event.target as HTMLElement), items.length, items.length);
    if (next === null) return;
    event.preventDefault();
    items[next]?.focus();
  };
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="page"]')?.scrollIntoView?.({ block: "nearest" });
  }, [current]);
  const link = (tool: ToolInfo) => (
    <ToolLink key={tool.id} tool={tool} current={tool.id === current} narrow={narrow} to={toolKeys(tool.id)} />
  );
  const without = tools.filter((tool) => !tool.available && (!narrow || tool.id === current));
  return (
    <nav ref={list} class="tools" aria-label="Tools" onKeyDown={onKey}>
      {groupTools(tools.filter(({ available }) => available)).map(([group, members]) => (
        <div key={group} class="tool-group" role="group" aria-label={group}>
          <h3>{narrow ? "" : group}</h3>
          {members.map(link)}
        </div>
      ))}
      {without.length ? (
        <details class="tool-group no-data" open={without.some(({ id }) => id === current)}>
          <summary>{narrow ? "" : `No data (${without.length})`}</summary>
          {without.map(link)}
        </details>
      ) : null}
    </nav>
  );
}

function ToolLink({ tool, current, narrow, to }: { tool: ToolInfo; current: boolean; narrow: boolean; to: Patch }) {
  const reason = tool.available ? null : (tool.reason ?? "No data in this session.");
  const tip = [narrow ? tool.title : null, reason ?? tool.summary].filter(Boolean).join("\n");
  return (
    <Link
      to={to}
      class={tool.available ? "tool" : "tool off"}
      aria-current={current ? "page" : undefined}
      aria-label={reason === null ? tool.title : `${tool.title}, no data: ${reason}`}
      data-tool={tool.id}
      data-tip={tip || undefined}
    >
      <Icon name={tool.id} fallback={tool.group} />
      {narrow ? null : (
        <span>
          {tool.title}
          {reason === null ? null : (
            <span class="tool-reason">
              <RichText text={reason} />
            </span>
          )}
        </span>
      )}
    </Link>
  );
}
