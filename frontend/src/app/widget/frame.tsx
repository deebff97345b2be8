// The pages in the frame of a notebook's widget: the kernel answers, and holds the state of the view.
import { render } from "preact";
import { makeClient } from "../../api/client";
import type { Client, Fetch } from "../../api/client";
import { patchQuery } from "../../base/query";
import type { ToldSelection } from "../../page/page";
import { download } from "../../widgets/content/download";
import { installTooltips } from "../../widgets/overlay/tooltip";
import { makeUrlState } from "../address/url_state";
import type { AddressBar } from "../address/url_state";
import { PAGE_KEYS, SHELL_KEYS } from "../address/view";
import { Shell } from "../shell/shell";
import type { Notebook, View } from "./notebook";

/** The address of the kernel; nothing is requested from it. */
const BASE = "https://kernel.invalid/";

const queryOf = (view: View): string => patchQuery("", view);

/** Answers requests by asking the kernel. */
export function kernelFetch(notebook: Notebook): Fetch {
  return async (address, { method = "GET", body = "", signal }) => {
    const {
      status,
      headers,
      body: bytes,
    } = await notebook.ask({
      address: address.slice(BASE.length),
      method,
      body: typeof body === "string" ? body : "",
      signal: signal ?? null,
    });
    return new Response(bytes as Uint8Array<ArrayBuffer>, {
      status,
      headers: headers.map(([name, value]): [string, string] => [name, value]),
    });
  };
}

/** The view as an address, without a history: the notebook has its own. */
function viewBar(notebook: Notebook): AddressBar {
  return {
    query: () => queryOf(notebook.view()),
    write: (query) => notebook.setView(Object.fromEntries(new URLSearchParams(query))),
    href: (query) => `#${query.slice(1)}`,
    isOurs: () => true,
    watch: () => undefined,
  };
}

/** The name that an answer gives to its file. */
const fileName = (headers: Headers, fallback: string): string =>
  /filename="([^"]+)"/.exec(headers.get("content-disposition") ?? "")?.[1] ?? fallback;

/** Links to files lead nowhere without a server: a click saves what the kernel answers. */
function saveLinkedFiles(own: Document, fetcher: Fetch): void {
  own.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link?.href.startsWith(BASE)) return;
    event.preventDefault();
    void fetcher(link.href, {}).then(async (answer) => {
      const kind = answer.headers.get("content-type") ?? "";
      download(fileName(answer.headers, kind.includes("html") ? "profile.html" : "profile.txt"), await answer.blob());
    });
  });
}

export function showWidget(root: HTMLElement, notebook: Notebook): void {
  const fetcher = kernelFetch(notebook);
  const client: Client = makeClient(BASE, fetcher);
  const code = (): string => {
    const { run, tool = "overview_page", ...rest } = notebook.view();
    const keys = Object.entries(rest).map(([key, value]) => `, ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
    return `logdir.run(${JSON.stringify(run)}).widget(${JSON.stringify(tool)}${keys.length ? `, **{${keys.join("").slice(2)}}` : ""})`;
  };
  let round = 0;
  const show = (): void => {
    const state = {
      ...makeUrlState(viewBar(notebook), [...SHELL_KEYS, ...PAGE_KEYS]),
      tellSelection: (selection: ToldSelection | null) => notebook.setSelection(selection),
    };
    render(<Shell key={round++} client={client} state={state} address={code} />, root);
  };
  notebook.watchView(show);
  saveLinkedFiles(root.ownerDocument, fetcher);
  show();
  installTooltips();
}
