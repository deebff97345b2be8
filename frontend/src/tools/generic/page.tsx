// The generic page: shows the tables of any tool that has no page of its own.
import { useMemo, useState } from "preact/hooks";
import type { PageModule, PageProps, UrlState } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { hostCount } from "../../page/page_state";
import { readTable, tablesOf } from "../../api/payload/table";
import type { DataTable } from "../../api/types";
import { plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { Panel } from "../../widgets/status/panel";
import { Table } from "../../widgets/table/table";
import type { TableStore } from "../../widgets/table/model/saved";
import { useLoad } from "../../widgets/status/use_load";
import "./generic.css";

/** The tool's parameters in the address bar are passed to the server. */
function toolParams({ tool, state }: PageProps): Record<string, string> {
  const params: Record<string, string> = {};
  for (const { name } of tool.params) {
    const value = state.get(name);
    if (value !== null) params[name] = value;
  }
  return params;
}

/** State of one of several tables, with prefixed keys such as `t1.sort`. */
export function tableStore(state: UrlState, prefix: string): TableStore {
  return {
    get: (key) => state.get(prefix + key),
    set: (patch) => state.set(Object.fromEntries(Object.entries(patch).map(([key, value]) => [prefix + key, value])), "replace"),
  };
}

function GenericPage(props: PageProps) {
  const { run, tool, host, hosts, client } = props;
  const params = { run, tag: tool.id, host: host ?? undefined, hosts: host === null ? hosts.join(",") : undefined, ...toolParams(props) };
  const answer = useLoad(JSON.stringify(params), (signal) => client.json<unknown>("page", params, { signal }));
  const tables = useMemo(() => tablesOf(answer.data)?.map((table) => ({ table, data: readTable(table) })) ?? null, [answer.data]);

  if (answer.data === null)
    return <Pending answer={answer} page={props} what={`Computing ${tool.title} from ${plural(hostCount(tool, host, hosts), "host")}`} />;
  if (tables === null) return <NotATable {...props} href={client.url("page", params)} />;
  return <Tables {...props} tables={tables} />;
}

interface Answer {
  table: DataTable;
  data: TableData;
}

function Tables({ run, tool, host, state, tables }: PageProps & { tables: Answer[] }) {
  // Some tools send tables without columns if they have no data.
  const filled = tables.map((answer, i) => ({ ...answer, number: i + 1 })).filter(({ data }) => data.columns.length > 0);
  const [chosen, setChosen] = useState(() => Number(state.get("tab") ?? filled[0]?.number));
  const current = filled.find(({ number }) => number === chosen) ?? filled[0];
  if (!current)
    return <Panel tone="empty" title="No data" why="The response contains no table." todo={["Choose another tool or host on the left."]} />;
  const name = [tool.id, run, host]
    .filter(Boolean)
    .join("_")
    .replace(/[^\w-]+/g, "_");
  const choose = (number: number): void => {
    setChosen(number);
    state.set({ tab: number === filled[0]?.number ? null : String(number) }, "replace");
  };
  return (
    <div class="generic">
      {filled.length > 1 ? (
        <div class="tabs" role="tablist" aria-label="Tables">
          {filled.map(({ data, number }) => (
            <button
              key={number}
              type="button"
              role="tab"
              class="tab"
              aria-selected={number === current.number}
              onClick={() => choose(number)}
            >
              Table {number} <span class="dim">({plural(data.rowCount, "row")})</span>
            </button>
          ))}
        </div>
      ) : null}
      <div class="generic-table">
        <Table
          key={current.number}
          data={current.data}
          title={tool.title}
          fileName={name}
          store={tableStore(state, tables.length > 1 ? `t${current.number}.` : "")}
        />
      </div>
    </div>
  );
}

function NotATable({ tool, href }: PageProps & { href: string }) {
  return (
    <Panel
      tone="empty"
      title={`${tool.title} has no page yet`}
      why="The server's response for this tool is not a table."
      todo={["Open the raw data with the link below."]}
    >
      <a class="button" href={href} target="_blank" rel="noreferrer">
        Open the data
      </a>
    </Panel>
  );
}

const page: PageModule = { ids: [], Page: GenericPage };
export default page;
