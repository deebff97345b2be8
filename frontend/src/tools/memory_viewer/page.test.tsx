import { expect, it, vi } from "vitest";
import { showPage } from "../../page/testing";
import page from "./page";
import { OVER_TIME } from "./over_time/testing";
import { VIEW } from "./testing";

vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

const TOOL = { id: "memory_viewer", title: "Memory Viewer", group: "Memory", hosts: "one" } as const;
const server = ({ pathname, searchParams }: URL): unknown =>
  pathname.endsWith("module_list") ? new Response(VIEW.module) : searchParams.get("tag") === TOOL.id ? VIEW : OVER_TIME;

it("shows the buffer of the address with its source line and call stack", async () => {
  const { root } = await showPage(page, TOOL, server, { buffer: "271" });
  expect(root.querySelector(".summary h2")?.textContent).toBe("jit_step(14) needs 6.500 MiB of HBM at its peak: 20.3% of 32 MiB");
  expect(root.querySelector(".buffer-card .dim")?.textContent).toBe("pinned");
  const link = root.querySelector<HTMLAnchorElement>(".buffer-source a");
  expect([link?.textContent, root.querySelector(".buffer-source pre")?.textContent]).toEqual([
    "train.py:27",
    "train.py:27:1\ntrain.py:40:1",
  ]);
  const { searchParams } = new URL(link?.href ?? "", "http://x");
  expect([searchParams.get("tool"), searchParams.get("line"), searchParams.get("module_name")]).toEqual([
    "source_view",
    "train.py:27",
    "jit_step(14)",
  ]);
});
