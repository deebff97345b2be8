// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";

const TOOL = { id: "query", title: "Query", group: "Data", hosts: "all" } as const;
const column = (id: string, unit = "") => ({ id, type: "number", unit, sentence: `What ${id} is.` });
const ABOUT = {
  missing: null,
  tables: [
    { name: "events", summary: "Recorded events.", columns: [column("begin_ps", "ps"), column("depth")] },
    { name: "steps", summary: "Steps.", columns: [column("step")] },
  ],
  examples: [
    { id: "longest", title: "The longest events", sentence: "Ten of them.", sql: "SELECT 10", over: "run" },
    { id: "pair", title: "Two runs", sentence: "Both.", sql: "SELECT 11", over: "pair" },
  ],
  limits: { seconds: 30, rows: 100000, memory_bytes: 1 },
};
const DONE = { query: "q1", state: "done", progress: "", seconds: 0.25, error: null, rows: 1, cut: false, notes: [] };
const ROWS = {
  cols: [
    { id: "run", label: "Run", type: "string" },
    { id: "host", label: "Host", type: "string" },
    { id: "begin_ps", label: "Begin", type: "number", unit: "ps" },
    { id: "total_ps", label: "total_ps", type: "number", unit: "ps" },
  ],
  rows: [{ c: [{ v: "r" }, { v: "h" }, { v: 5000 }, { v: 2000 }] }],
};

interface Sent {
  route: string;
  body: unknown;
}

/** The page with a server that answers statements by `answer`; `sent` has the POSTs. */
async function open(
  answer: (route: string, sent: Sent[]) => unknown,
  keys: Record<string, string> = {},
): Promise<Shown & { sent: Sent[] }> {
  const sent: Sent[] = [];
  const shown = await showPage(
    page,
    TOOL,
    (at: URL, request: RequestInit) => {
      const route = at.pathname.split("/").pop() ?? "";
      if (request.method === "POST") sent.push({ route, body: JSON.parse(request.body as string) as unknown });
      if (route === "query_about") return ABOUT;
      return answer(route, sent);
    },
    keys,
  );
  return { ...shown, sent };
}

const happy = (route: string): unknown => (route === "query_result" ? ROWS : DONE);
const button = (shown: Shown, words: string): HTMLElement => {
  const found = [...shown.root.querySelectorAll<HTMLElement>("button, a")].find((one) => one.textContent?.includes(words));
  if (!found) throw new Error(`no button ${words}`);
  return found;
};
const press = async (shown: Shown, words: string): Promise<void> => {
  button(shown, words).click();
  await settle(shown.root);
};
const area = (shown: Shown): HTMLTextAreaElement => {
  const found = shown.root.querySelector("textarea");
  if (!found) throw new Error("no editor");
  return found;
};
function type(shown: Shown, text: string): void {
  area(shown).value = text;
  area(shown).dispatchEvent(new Event("input", { bubbles: true }));
}

describe("the page Query", () => {
  it("runs an example, shows its rows with units, and keeps both in the address", async () => {
    const shown = await open(happy, { "t1.row": "host~h" });
    await press(shown, "The longest events");
    expect(shown.sent).toEqual([{ route: "query", body: { statement: "SELECT 10", runs: ["r"] } }]);
    expect(shown.text()).toContain("1 row in 250 ms");
    expect(shown.root.querySelector(".table-detail")?.textContent).toContain("2 ns");
    expect([shown.keys.get("sql"), shown.keys.get("ran")]).toEqual(["SELECT 10", "1"]);
  });

  it("compares with the run before where an example needs two", async () => {
    const shown = await open(happy);
    await press(shown, "Two runs");
    expect(shown.sent).toEqual([{ route: "query", body: { statement: "SELECT 11", runs: ["r", "before"] } }]);
    expect([shown.keys.get("base"), shown.keys.get("runs"), shown.keys.get("ran")]).toEqual(["before", "=base", "1"]);
  });

  it("runs the statement of a link, over its runs", async () => {
    const shown = await open(happy, { sql: "SELECT 2", ran: "1", runs: "train/*" });
    expect(shown.sent).toEqual([{ route: "query", body: { statement: "SELECT 2", runs: "train/*" } }]);
    expect(area(shown).value).toBe("SELECT 2");
  });

  it("shows a draft of a link without running it", async () => {
    const shown = await open(happy, { sql: "SELECT 3" });
    expect([area(shown).value, shown.sent]).toEqual(["SELECT 3", []]);
  });

  it("runs at Ctrl+Enter; what is typed is in the address soon", async () => {
    const shown = await open(happy, { sql: "x" });
    type(shown, "SELECT 4");
    await vi.waitFor(() => expect([shown.keys.get("sql"), shown.keys.has("ran")]).toEqual(["SELECT 4", false]));
    area(shown).dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
    await settle(shown.root);
    expect(shown.sent).toHaveLength(1);
    type(shown, "SELECT 40"); // and run before the address has it
    area(shown).dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
    await new Promise((done) => setTimeout(done, 600));
    expect([shown.keys.get("sql"), shown.keys.get("ran")]).toEqual(["SELECT 40", "1"]);
  });

  it("reads the run and its base, or all runs", async () => {
    const shown = await open(happy, { sql: "SELECT 5", base: "before", runs: "=base" });
    await press(shown, "Run");
    const select = shown.root.querySelector("select");
    expect([...(select?.options ?? [])].map(({ text }) => text)).toEqual([
      "This run",
      "This run and its base",
      "All runs",
      "Matching names",
    ]);
    if (select) select.value = "*";
    select?.dispatchEvent(new Event("change", { bubbles: true }));
    await settle(shown.root);
    await press(shown, "Run");
    expect(shown.sent.map(({ body }) => (body as { runs: unknown }).runs)).toEqual([["r", "before"], "*"]);
  });

  it("says what a statement is refused for, and where it is wrong", async () => {
    const error = { code: "query_failed", message: "There is no table nope.", details: { line: 1, column: 15 } };
    const shown = await open(() => ({ ...DONE, state: "failed", error }), { sql: "SELECT * FROM nope", ran: "1" });
    expect(shown.text()).toContain("The query has an error");
    expect(shown.text()).toContain("There is no table nope.");
    expect(shown.root.querySelector("pre")?.textContent).toBe("1 | SELECT * FROM nope\n                  ^");
    await press(shown, "Go to line 1, column 15");
    expect(area(shown).selectionStart).toBe(14);
  });

  it("shows the refusal of the server", async () => {
    const refusal = { error: { code: "forbidden", message: "Not from here.", details: {} } };
    const shown = await open(() => new Response(JSON.stringify(refusal), { status: 403 }), { sql: "SELECT 6", ran: "1" });
    expect(shown.text()).toContain("Not from here.");
  });

  it("says what is being read, and cancels", async () => {
    let state = "reading";
    const shown = await open(
      (route) => {
        if (route === "query_cancel") state = "cancelled";
        const error = state === "cancelled" ? { code: "query_stopped", message: "The query was cancelled.", details: {} } : null;
        return { ...DONE, state, rows: null, progress: "Reading events of run r", error };
      },
      { sql: "x" },
    );
    type(shown, "SELECT 7");
    await new Promise((done) => setTimeout(done, 20));
    button(shown, "Run").click();
    await vi.waitFor(() => expect(shown.root.querySelector<HTMLButtonElement>(".loading")).not.toBeNull());
    await vi.waitFor(() => expect(shown.text()).toContain("Reading events of run r"), 3000);
    button(shown, "Cancel").click();
    await settle(shown.root);
    expect(shown.sent.at(-1)).toEqual({ route: "query_cancel", body: { query: "q1" } });
    expect(shown.text()).toContain("Cancelled");
  });

  it("leads from a row to its place in the timeline", async () => {
    const shown = await open(happy, { sql: "SELECT 8", ran: "1", "t1.row": "host~h" });
    await press(shown, "Show in the timeline");
    expect(["tool", "run", "host", "marker", "sql"].map((key) => shown.keys.get(key))).toEqual([
      "trace_viewer@",
      "r",
      "h",
      "5000,row of the query",
      undefined,
    ]);
  });

  it("says what is missing from the rows", async () => {
    const notes = ["Only the first 100,000 rows are kept."];
    const answer = (route: string): unknown => (route === "query_result" ? ROWS : { ...DONE, rows: 100000, cut: true, notes });
    const shown = await open(answer, { sql: "SELECT 9", ran: "1" });
    expect(shown.text()).toContain("Only the first 100,000 rows are kept.");
    expect(shown.text()).toContain("The table shows the first 1 of 100,000 rows; CSV and Parquet have all.");
  });

  it("writes the names of the schema into the statement", async () => {
    const shown = await open(happy, { sql: "SELECT  FROM steps" });
    area(shown).setSelectionRange(7, 7);
    await press(shown, "begin_ps");
    expect(area(shown).value).toBe("SELECT begin_ps FROM steps");
  });

  it("says what to install", async () => {
    const shown = await showPage(page, TOOL, { ...ABOUT, missing: "SQL needs DuckDB." });
    expect(shown.text()).toContain("SQL needs DuckDB.");
    expect(shown.root.querySelector("textarea")).toBeNull();
  });
});
