// The ES module of a notebook's widget: shows the pages in a frame of the cell and passes their questions to the kernel.
import { Kernel } from "./kernel";
import type { Channel, Condition } from "./kernel";
import type { ToldSelection } from "../../page/page";
import type { Notebook, View } from "./notebook";

/** The model of the widget, as anywidget gives it. */
interface Model extends Channel {
  get(name: "view"): View;
  get(name: "height"): number;
  /** Tells builds of the pages apart. */
  get(name: "build"): string;
  set(name: "view", value: View): void;
  set(name: "selected", value: ToldSelection | Record<string, never>): void;
  save_changes(): void;
  on(name: "msg:custom", heard: (content: unknown, buffers: readonly DataView[]) => void): void;
  on(name: string, changed: () => void): void;
  off(name: "msg:custom", heard: (content: unknown, buffers: readonly DataView[]) => void): void;
  off(name: string, changed: () => void): void;
}

/** Script and style of the pages. */
interface Pages {
  readonly script: string;
  readonly style: string;
}

const SAID: Readonly<Record<Condition, string>> = {
  well: "",
  slow: "The kernel does not answer: it runs a cell, and the page waits; or it was restarted, then run this cell again.",
  lost: "The kernel was restarted or has ended: run this cell again.",
};
/** The document of the frame: nothing is requested, and nothing runs but the script of the pages. */
function documentOf(nonce: string): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const head = `<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">`;
  return `<!doctype html><html lang="en"><head>${head}</head><body><div id="app"></div></body></html>`;
}
/** The pages for all widgets of a notebook's document, by their build. */
const KEPT = Symbol.for("tpu_profile_plugin.pages");

async function unpacked(body: Uint8Array): Promise<string> {
  return new Response(new Blob([body as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function fetched(kernel: Kernel): Promise<Pages> {
  const file = async (address: string): Promise<string> =>
    unpacked((await kernel.ask({ address, method: "GET", body: "", signal: null })).body);
  const [script, style] = await Promise.all([file("report.js"), file("report.css")]);
  return { script, style };
}

/** The pages of a build, asked for once. */
function pagesOf(kernel: Kernel, build: string): Promise<Pages> {
  const all = globalThis as typeof globalThis & { [KEPT]?: Map<string, Promise<Pages>> };
  const kept = (all[KEPT] ??= new Map());
  const known = kept.get(build);
  if (known) return known;
  const pages = fetched(kernel);
  kept.set(build, pages);
  pages.catch(() => kept.delete(build));
  return pages;
}

/** Puts the pages into the document of the frame. */
function start(own: Document, { script, style }: Pages, nonce: string): void {
  const sheet = own.createElement("style");
  sheet.nonce = nonce;
  sheet.textContent = style;
  const code = own.createElement("script");
  code.nonce = nonce;
  code.type = "module";
  code.textContent = script;
  own.head.append(sheet);
  own.body.append(code);
}

const sameView = (a: View, b: View): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);

let views = 0;

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const note = document.createElement("div");
  note.setAttribute("role", "status");
  Object.assign(note.style, { font: "12px/20px system-ui, sans-serif", opacity: "0.8" });
  const box = document.createElement("div");
  Object.assign(box.style, { height: `${model.get("height")}px`, resize: "vertical", overflow: "hidden", border: "1px solid #8884" });
  const frame = document.createElement("iframe");
  frame.title = "Profile";
  frame.allow = "clipboard-write; fullscreen";
  frame.dataset["profileWidget"] = "";
  Object.assign(frame.style, { display: "block", width: "100%", height: "100%", border: "0" });

  const kernel = new Kernel(model, `${Date.now().toString(36)}.${++views}`, (condition) => (note.textContent = SAID[condition]));
  const ended = (): void => kernel.lose();
  model.on("comm_live_update", ended);
  let watching: () => void = () => undefined;
  let known = model.get("view");
  const changed = (): void => {
    const view = model.get("view");
    if (sameView(view, known)) return;
    known = view;
    watching();
  };
  model.on("change:view", changed);
  const resized = (): void => void (box.style.height = `${model.get("height")}px`);
  model.on("change:height", resized);

  const notebook: Notebook = {
    ask: (question) => kernel.ask(question),
    view: () => known,
    setView(view) {
      known = view;
      model.set("view", view);
      model.save_changes();
    },
    setSelection(selection) {
      model.set("selected", selection ?? {});
      model.save_changes();
    },
    watchView: (told) => (watching = told),
  };
  // Again where the notebook moves the cell in its document, which loads the frame anew.
  frame.addEventListener("load", () => {
    const own = frame.contentWindow;
    if (!own) return;
    own.profileNotebook = notebook;
    pagesOf(kernel, model.get("build")).then(
      (pages) => start(own.document, pages, nonce),
      () => (note.textContent = SAID.lost),
    );
  });
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  void pagesOf(kernel, model.get("build")).catch(() => undefined); // while the frame is made
  frame.srcdoc = documentOf(nonce);
  box.append(frame);
  el.append(note, box);
  return () => {
    model.off("comm_live_update", ended);
    model.off("change:view", changed);
    model.off("change:height", resized);
    kernel.close();
  };
}

export default { render };
