// Graph viewer: the text of a compiled program with links between definitions and uses, and its graph.
import { documentOf } from "../../api/client";
import { readModules } from "../../api/payload/modules";
import { NO_PROGRAMS } from "../../page/failure/no_programs";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { useKey } from "../../page/use_key";
import { Panel } from "../../widgets/status/panel";
import { Picker } from "../../widgets/overlay/picker";
import { useLoad } from "../../widgets/status/use_load";
import { readHlo } from "./text/hlo_text";
import { costliestProgram, opTimes } from "./times";
import { Module } from "./module";
import "./page.css";

const PARTS = [
  ["both", "Text and graph"],
  ["graph", "Graph"],
  ["text", "Text"],
] as const;

function GraphViewerPage(props: PageProps) {
  const { run, host, client } = props;
  const list = useLoad(JSON.stringify([run, host]), async (signal) =>
    readModules(await client.text("module_list", { run, host: host ?? undefined }, { signal })),
  );
  if (list.data === null) return <Pending answer={list} page={props} what="Reading the compiled programs" />;
  if (list.data.length === 0) return <Panel {...NO_PROGRAMS} />;
  return <Chosen {...props} names={list.data} />;
}

/** The module in the address, by name or program id; else the one that takes most time, or was compiled last. */
function moduleOf(names: readonly string[], wanted: string | null, program: string | null): string | null {
  if (wanted !== null) return wanted;
  const id = (name: string): number => Number(/\((\d+)\)$/.exec(name)?.[1] ?? -1);
  const named = program === null ? undefined : names.find((name) => name.endsWith(`(${program})`));
  return named ?? names.reduce<string | null>((best, name) => (best === null || id(name) > id(best) ? name : best), null);
}

function Chosen(props: PageProps & { names: readonly string[] }) {
  const { run, tool, host, client, state, names } = props;
  const [named, program] = [useKey(state, "module_name"), useKey(state, "program_id")];
  const request = opTimes(run, host);
  const unnamed = named === null && program === null && names.length > 1;
  const costliest = useLoad(unnamed ? JSON.stringify(request) : null, async (signal) =>
    costliestProgram(await documentOf(client, "hlo_stats", request, { signal }), names),
  );
  // Without times of ops any program will do.
  const module = unnamed && costliest.loading ? null : moduleOf(names, named, program ?? costliest.data);
  const [long, view] = [useKey(state, "text") === "long", useKey(state, "view")];
  const params = { run, tag: tool.id, host: host ?? undefined, module_name: module };
  const form = long ? { type: "long_txt", show_metadata: true } : { type: "short_txt" };
  const answer = useLoad(module === null ? null : JSON.stringify([params, long]), async (signal) =>
    readHlo(await client.text("page", { ...params, ...form }, { signal })),
  );
  const file = (type: string): string => client.url("page", { ...params, type, show_metadata: type === "long_txt" ? true : undefined });
  return (
    <div class="tool-page graph-viewer">
      <div class="viewer-head">
        <div class="viewer-tools" role="toolbar" aria-label="Module and text format">
          <Picker
            label="Module"
            noun="module"
            choices={names.map((id) => ({ id }))}
            value={module}
            onChoose={(id) =>
              state.set({ module_name: id, program_id: null, node_name: null, sel: null, expand: null, max_nodes: null, q: null }, "push")
            }
          />
          <span class="segmented" role="group" aria-label="Parts of the page">
            {PARTS.map(([id, label]) => (
              <button
                key={id}
                type="button"
                aria-pressed={(view ?? "both") === id}
                onClick={() => state.set({ view: id === "both" ? null : id }, "replace")}
              >
                {label}
              </button>
            ))}
          </span>
          <span class="segmented" role="group" aria-label="Text">
            <button
              type="button"
              aria-pressed={!long}
              data-tip="Instructions with their attributes"
              onClick={() => state.set({ text: null }, "replace")}
            >
              Short text
            </button>
            <button
              type="button"
              aria-pressed={long}
              data-tip="With signatures, source metadata and the tables of stack frames"
              onClick={() => state.set({ text: "long" }, "replace")}
            >
              Long text
            </button>
          </span>
        </div>
        <span class="downloads">
          <span class="dim">Download</span>
          {["pb", "pbtxt", "short_txt", "long_txt"].map((type) => (
            <a
              key={type}
              class="button ghost"
              data-tip="Download"
              href={file(type)}
              download={`${module ?? "module"}.${type.replace("_txt", ".txt")}`}
            >
              {type.replace("_txt", " text")}
            </a>
          ))}
        </span>
      </div>
      {answer.data === null || module === null ? (
        <Pending answer={answer} page={props} what={`Reading ${module ?? "the module"}`} />
      ) : (
        <Module key={module} page={props} module={module} hlo={answer.data} params={params} />
      )}
    </div>
  );
}

const page: PageModule = { ids: ["graph_viewer"], Page: GraphViewerPage };
export default page;
