// Host selection by the tool's rule: one, several, one or all together, or always all.
import { useEffect, useState } from "preact/hooks";
import type { ToolInfo } from "../../api/types";
import { ALL_HOSTS } from "../../api/types";
import { plural } from "../../base/format";
import { Popover } from "../../widgets/overlay/popover";
import { Icon } from "../icons";

const SEARCH_FROM = 11;

/** The display name of a host; ALL_HOSTS is the wire name of all together. */
export function hostLabel(host: string): string {
  return host === ALL_HOSTS ? "All hosts" : host;
}

interface Props {
  tool: ToolInfo;
  hosts: readonly string[];
  host: string | null;
  onChoose: (hosts: string[]) => void;
}

export function HostPicker({ tool, hosts, host, onChoose }: Props) {
  const names = tool.host_names;
  if (names.length === 0) return <p class="fixed-host dim">No hosts</p>;
  if (tool.hosts === "all" || names.length === 1) {
    const only = names[0] ?? "";
    return (
      <p
        class="fixed-host"
        data-tip={tool.hosts === "all" && only === ALL_HOSTS ? "This tool always shows all hosts of the session together." : undefined}
      >
        <Icon name="host" />
        <span>{tool.hosts === "all" && names.length > 1 ? plural(names.length, "host") : hostLabel(only)}</span>
      </p>
    );
  }
  const many = tool.hosts === "several";
  const text = many
    ? hosts.length === 1
      ? (hosts[0] ?? "")
      : `${hosts.length} of ${plural(names.length, "host")}`
    : hostLabel(host ?? "");
  const label = (
    <>
      <span class="picker-label">
        <span class="picker-main">{text}</span>
      </span>
      <Icon name="down" />
    </>
  );
  return (
    <Popover label={label} buttonClass="picker small" boxClass="hosts" popup={many ? "dialog" : "listbox"}>
      {(close) =>
        many ? (
          <ManyHosts
            names={names}
            chosen={hosts}
            onApply={(list) => {
              close();
              onChoose(list);
            }}
          />
        ) : (
          <OneHost
            names={names}
            chosen={host}
            onChoose={(name) => {
              close();
              onChoose([name]);
            }}
          />
        )
      }
    </Popover>
  );
}

function matching(names: readonly string[], query: string): string[] {
  return names.filter((name) => hostLabel(name).toLowerCase().includes(query.toLowerCase()));
}

function Search({ count, query, onQuery }: { count: number; query: string; onQuery: (q: string) => void }) {
  if (count < SEARCH_FROM) return null;
  return (
    <input
      class="field wide"
      type="search"
      placeholder={`Search ${plural(count, "host")}`}
      aria-label="Search hosts"
      value={query}
      onInput={(e) => onQuery(e.currentTarget.value)}
    />
  );
}

function OneHost({ names, chosen, onChoose }: { names: readonly string[]; chosen: string | null; onChoose: (name: string) => void }) {
  const [query, setQuery] = useState("");
  return (
    <>
      <Search count={names.length} query={query} onQuery={setQuery} />
      <div role="radiogroup" aria-label="Host">
        {matching(names, query).map((name) => (
          <label key={name} class="check">
            <input
              type="radio"
              name="host"
              checked={name === chosen}
              onChange={() => onChoose(name)}
              onClick={() => name === chosen && onChoose(name)}
            />
            <span>{hostLabel(name)}</span>
          </label>
        ))}
      </div>
    </>
  );
}

function ManyHosts({
  names,
  chosen,
  onApply,
}: {
  names: readonly string[];
  chosen: readonly string[];
  onApply: (hosts: string[]) => void;
}) {
  const [query, setQuery] = useState("");
  const [set, setSet] = useState<ReadonlySet<string>>(new Set(chosen));
  useEffect(() => setSet(new Set(chosen)), [chosen.join(",")]);
  const toggle = (name: string): void => {
    const next = new Set(set);
    if (!next.delete(name)) next.add(name);
    setSet(next);
  };
  const shown = matching(names, query);
  return (
    <>
      <Search count={names.length} query={query} onQuery={setQuery} />
      <div class="host-tools">
        <button type="button" class="button ghost" onClick={() => setSet(new Set([...set, ...shown]))}>
          All
        </button>
        <button type="button" class="button ghost" onClick={() => setSet(new Set([...set].filter((n) => !shown.includes(n))))}>
          None
        </button>
        <button type="button" class="button primary" disabled={set.size === 0} onClick={() => onApply(names.filter((n) => set.has(n)))}>
          Show {plural(set.size, "host")}
        </button>
      </div>
      <div role="group" aria-label="Hosts">
        {shown.map((name) => (
          <label key={name} class="check">
            <input type="checkbox" checked={set.has(name)} onChange={() => toggle(name)} />
            <span>{name}</span>
          </label>
        ))}
      </div>
    </>
  );
}
