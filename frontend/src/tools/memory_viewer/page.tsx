// Memory viewer: the memory of a compiled program over the program order, and its buffers at the peak.
import { useRef, useState } from "preact/hooks";
import { NO_PROGRAMS } from "../../page/failure/no_programs";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { toolPatch } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { Link } from "../../widgets/content/link";
import { Panel } from "../../widgets/status/panel";
import { Picker } from "../../widgets/overlay/picker";
import { useLoad } from "../../widgets/status/use_load";
import { chooseModule, loadModules } from "./choose";
import type { Modules } from "./choose";
import { documentOf } from "../../api/client";
import { formatBytes } from "../../base/format";
import { isEmpty, spaceName, spacesOf } from "./model";
import { ModuleView } from "./module_view";
import { OVER_TIME_KEYS } from "./over_time/keys";
import "../../widgets/chart/chart.css";
import "./page.css";

/** Query keys of this page. */
const OWN_KEYS = ["module_name", "program_id", "memory_space", "buffer", "q", "group_by", ...OVER_TIME_KEYS];

function MemoryViewerPage(props: PageProps) {
  const { run, host, client, state } = props;
  const space = useKey(state, "memory_space") ?? "0";
  const list = useLoad(JSON.stringify([run, host, space]), (signal) => loadModules(client, run, host, space, signal));
  if (list.data === null) return <Pending answer={list} page={props} what="Reading the compiled programs" />;
  if (list.data.names.length === 0) return <NoModules {...props} />;
  return <Chosen page={props} modules={list.data} space={space} />;
}

function NoModules({ host }: PageProps) {
  return (
    <Panel
      {...NO_PROGRAMS}
      todo={[...NO_PROGRAMS.todo, "For allocations recorded during the profile, see the Memory profile, which needs no compiled programs."]}
    >
      <Link class="button" to={toolPatch("memory_profile", host, OWN_KEYS)}>
        Open the memory profile
      </Link>
    </Panel>
  );
}

interface ChosenProps {
  page: PageProps;
  modules: Modules;
  space: string;
}

function Chosen({ page, modules, space }: ChosenProps) {
  const { run, host, client, state } = page;
  const [wanted, program, query] = [useKey(state, "module_name"), useKey(state, "program_id"), useKey(state, "q")];
  const module = chooseModule(modules, wanted, program);
  const params = { run, host: host ?? undefined, module_name: module, memory_space: space };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "memory_viewer", params, { signal }));
  const [typed, setTyped] = useState(query ?? "");
  const choices = modules.names.map((id) => {
    const peak = modules.peaks.get(id);
    return { id, ...(peak === undefined ? {} : { note: `peak ${formatBytes(peak)}` }) };
  });
  // The spaces of the previous module while the next one loads.
  const spacesBefore = useRef<ReturnType<typeof spacesOf>>([]);
  const spaces = answer.data ? spacesOf(answer.data) : spacesBefore.current;
  spacesBefore.current = spaces;
  const memory = answer.data ? spaceName(space, answer.data.device) : "memory";
  return (
    <div class="tool-page">
      <div class="tool-page-body memory-viewer">
        <div class="viewer-tools" role="toolbar" aria-label="Module and memory space">
          <Picker
            label="Module"
            noun="module"
            choices={choices}
            value={module}
            onChoose={(id) => state.set({ module_name: id, program_id: null, buffer: null }, "push")}
          />
          {spaces.length > 1 || space !== "0" ? (
            <label class="pick">
              <span class="pick-label">Memory space</span>
              <select
                class="field"
                value={space}
                onChange={(event) =>
                  state.set(
                    {
                      memory_space: event.currentTarget.value === "0" ? null : event.currentTarget.value,
                      buffer: null,
                      module_name: module,
                    },
                    "push",
                  )
                }
              >
                {spaces.map(({ id, name, note }) => (
                  <option key={id} value={id} title={note}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          ) : null}
          <input
            class="field viewer-search"
            type="search"
            aria-label="Search buffers"
            placeholder="Search buffers: name, op, opcode, shape"
            value={typed}
            onInput={(event) => {
              setTyped(event.currentTarget.value);
              state.set({ q: event.currentTarget.value || null }, "replace");
            }}
          />
        </div>
        {answer.data === null || module === null ? (
          <Pending answer={answer} page={page} what={`Computing the memory of ${module ?? "the program"}`} rows={16} />
        ) : isEmpty(answer.data) ? (
          <Panel
            tone="empty"
            title={`${module} uses no ${memory}`}
            why="The buffer assignment of this module has no buffer in this memory space."
            todo={["Choose another memory space or module above; most buffers are in the main memory."]}
          />
        ) : (
          <ModuleView
            key={`${module} ${space}`}
            page={page}
            view={answer.data}
            module={module}
            space={space}
            query={typed}
            own={OWN_KEYS}
          />
        )}
      </div>
    </div>
  );
}

const page: PageModule = { ids: ["memory_viewer"], Page: MemoryViewerPage, compares: true, findings: ["memory_profile"] };
export default page;
