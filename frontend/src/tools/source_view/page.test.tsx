import { expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import page from "./page";
import { answerOf } from "./testing";

const TOOL = { id: "source_view", title: "Source", group: "Ops", hosts: "one_or_all" } as const;
const RUN = answerOf({ dot: 60e6, add: 30e6, lost: 10e6 });
const TEXT = "import jax\n".repeat(20);

const server =
  (text: unknown, status = 200) =>
  ({ pathname }: URL): unknown =>
    pathname.endsWith("source_text") ? new Response(JSON.stringify(text), { status }) : RUN;

it("shows the tree, and the details and text of a linked line", async () => {
  const shown = await showPage(page, TOOL, server({ file: "train.py", text: TEXT }), { line: "train.py:12" });
  expect(shown.root.querySelector(".summary h2")?.textContent).toBe("60.0% of the device time comes from train.py:12 (loss)");
  expect(shown.root.querySelector(".src-card h2")?.textContent).toBe("train.py:12");
  expect([...shown.root.querySelectorAll(".src-code.hot, .src-code.chosen")].map((line) => line.textContent)).toEqual([
    "30 us10import jax",
    "60 us12import jax",
  ]);
  expect([...shown.root.querySelectorAll(".src-stack li")].map((call) => call.textContent)).toEqual([
    "loss /src/train.py:12",
    "main /src/main.py:5",
  ]);
  const links = [...shown.root.querySelectorAll<HTMLAnchorElement>(".src-list a")].map((link) => new URL(link.href, "http://x").search);
  expect(links).toEqual([
    "?op=dot&tool=hlo_stats&host=h&program=7",
    "?op=dot&tool=op_profile&host=h&program_id=7",
    "?tool=graph_viewer&host=h&program_id=7&node_name=dot",
  ]);
});

it("a line of the text can be chosen", async () => {
  const shown = await showPage(page, TOOL, server({ file: "train.py", text: TEXT }), { line: "train.py:12" });
  shown.root.querySelector<HTMLElement>(".src-code.hot button")?.click();
  await settle(shown.root);
  expect(shown.keys.get("line")).toBe("/src/train.py:10");
  expect(shown.root.querySelector(".src-card h2")?.textContent).toBe("train.py:10");
});

it("says why there is no text, and takes a pasted one", async () => {
  const shown = await showPage(page, TOOL, server({ file: null, text: null, reason: "No root." }), { line: "train.py:12" });
  expect(shown.root.querySelector(".src-paste")?.textContent).toContain("No root. Or paste the text");
  const box = shown.root.querySelector("textarea") as HTMLTextAreaElement;
  box.value = TEXT;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  await settle(shown.root);
  [...shown.root.querySelectorAll("button")].find((one) => one.textContent === "Show the text")?.click();
  await settle(shown.root);
  expect(shown.root.querySelectorAll(".src-code").length).toBe(21);
  [...shown.root.querySelectorAll("button")].find((one) => one.textContent === "Remove the text")?.click();
  await settle(shown.root);
  expect(shown.root.querySelector(".src-paste")).not.toBeNull();
});

it("shows the reason of a refused file", async () => {
  const refused = server({ error: { code: "forbidden", message: "train.py is linked." } }, 403);
  const shown = await showPage(page, TOOL, refused, { line: "train.py:12" });
  await vi.waitFor(() => expect(shown.text()).toContain("Or paste the text"));
});

it("leads from an op to its line, and says if there is none", async () => {
  const shown = await showPage(page, TOOL, server({ file: null, text: null, reason: "-" }), { op: "jit(f)/dense/add" });
  expect(shown.root.querySelector(".src-card h2")?.textContent).toBe("train.py:10");
  const other = await showPage(page, TOOL, server({ file: null, text: null, reason: "-" }), { line: "gone.py:1" });
  expect(other.text()).toContain("No op and no buffer at the peak is from gone.py:1.");
});

it("moves and opens by keyboard", async () => {
  const shown = await showPage(page, TOOL, server({ file: null, text: null, reason: "-" }), { node: "file:/src/train.py" });
  const press = async (key: string): Promise<void> => {
    shown.root.querySelector(".src-grid")?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await settle(shown.root);
  };
  await press("ArrowDown");
  expect(shown.keys.get("node")).toBe("file:/src/train.py\nfunction:loss");
  await press("ArrowLeft");
  await press("ArrowLeft");
  expect(shown.keys.get("node")).toBe("file:/src/train.py");
});

it("opens a line in the chosen editor, whose choice is kept", async () => {
  const shown = await showPage(page, TOOL, server({ file: "src/train.py", text: TEXT }), { line: "train.py:12" });
  const link = (): string | null | undefined => shown.root.querySelector(".src-editor a")?.getAttribute("href");
  expect(link()).toBeUndefined();
  const choice = shown.root.querySelector(".src-editor select") as HTMLSelectElement;
  choice.selectedIndex = 1;
  choice.dispatchEvent(new Event("change", { bubbles: true }));
  await settle(shown.root);
  expect(link()).toBe("vscode://file/src/train.py:12");
  const root = shown.root.querySelector(".src-editor input") as HTMLInputElement;
  root.value = "/home/me/job";
  root.dispatchEvent(new Event("change", { bubbles: true }));
  await settle(shown.root);
  expect(link()).toBe("vscode://file/home/me/job/src/train.py:12");
  expect(JSON.parse(localStorage.getItem("profile-editor") ?? "")).toEqual({ editor: "vscode", root: "/home/me/job", host: "" });
  localStorage.removeItem("profile-editor");
});
