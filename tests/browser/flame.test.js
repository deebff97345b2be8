// Flame graphs in real browsers: 200,000 frames at 60 a second (at night), zoom by pointer and keyboard, search, table.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const RUN = `run=${encodeURIComponent(`jax_mlp/${readdirSync(path.join(h.DEMO, "jax_mlp", "plugins", "profile"))[0]}`)}`;
const at = await h.served({ demo: h.DEMO });
/** Ops, and the frames of their stacks at least: on a push a tenth. */
const [OPS, FRAMES] = h.ALL ? [180_000, 200_000] : [18_000, 20_000];

/** In the page: answers the page's request with as many ops, in stacks of four calls, instead of asking the server. */
function answerWith(count) {
  const column = (id, kind, values) => ({ id, label: id, kind, unit: null, help: null, values });
  const table = (ids, kinds, rows) => ({
    columns: ids.map((id, i) => column(id, kinds[i], rows.map((row) => row[i]))),
    rowCount: rows.length,
    properties: {},
  });
  const [text, number] = ["string", "number"];
  const frames = Array.from({ length: 20_000 }, (_, i) => [`/src/f${i % 50}.py`, `function_${i}`, 1 + (i % 900)]);
  const stacks = Array.from({ length: 20_000 }, (_, i) => [i, i % 2000, i % 200, i % 20]);
  const ops = Array.from({ length: count }, (_, i) => [`op.${i}`, "7", "f(7)", "fusion", "", 0, i % 20_000, 1000 * (1 + ((i * 7919) % 997)), 1, null, null]);
  const answer = JSON.stringify({
    lines: table(["file", "function", "line"], [text, text, number], [["/src/f0.py", "function_0", 1]]),
    ops: table(
      ["name", "program_id", "program", "category", "framework_op", "line", "stack", "self_ps", "occurrences", "flops", "bytes"],
      [text, text, text, text, text, number, number, number, number, number, number],
      ops,
    ),
    buffers: table(["name", "shape", "category", "framework_op", "line", "stack", "size"], [text, text, text, text, number, number, number], []),
    frames: table(["file", "function", "line"], [text, text, number], frames),
    stacks,
    memory: null,
    place: "device",
    total_ps: 1e12,
    cores: 1,
    left_out: [],
  });
  const original = window.fetch;
  window.fetch = (input, init) =>
    String(input).includes("tag=source_view")
      ? Promise.resolve(new Response(answer, { headers: { "Content-Type": "application/json" } }))
      : original(input, init);
}

const selected = (tab) => tab.frame().$eval(".flame-selected", (element) => element.textContent);
const drawn = (tab) => tab.frame().$eval(".flame canvas", ({ dataset }) => ({ blocks: Number(dataset.blocks), ms: Number(dataset.drawMs) }));

h.inEveryBrowser("flame graphs", ({ name, browser }) => {
  test(`${FRAMES} frames are drawn${h.ALL ? " in the time of one frame of 60 a second" : ""}`, async () => {
    const tab = await h.openPage(browser(), at.demo, { query: `${RUN}&tool=overview_page` });
    await h.until("the tools", () => tab.frame().$('[data-tool="source_view"]'));
    await tab.frame().evaluate(answerWith, OPS);
    await h.click(tab, '[data-tool="source_view"]');
    await h.until("the tree", () => tab.frame().$(".src-grid"));
    await h.click(tab, '[aria-label="Show as"] button:nth-child(2)');
    await h.until("the frames", async () => (await drawn(tab)).blocks > 100);
    const frames = await tab.frame().$eval(".flame canvas", (canvas) => Number(/([\d,]+) frames/.exec(canvas.ariaLabel ?? canvas.getAttribute("aria-label"))[1].replace(/,/g, "")));
    assert.ok(frames >= FRAMES, `${frames} frames`);
    await tab.frame().focus(".flame canvas");
    const times = [];
    for (const key of [..."+".repeat(12), ..."-".repeat(12)]) {
      await tab.page.keyboard.press(key);
      await h.pause(40);
      times.push((await drawn(tab)).ms);
    }
    times.sort((a, b) => a - b);
    console.log(`# ${name}: ${frames} frames, median ${times[12]} ms, longest ${times.at(-1)} ms a picture`);
    assert.ok(!h.ALL || times[12] < 1000 / 60, `median ${times[12]} ms`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("zooms, searches, and shows the same data as a table", async () => {
    const tab = await h.openPage(browser(), at.demo, { query: `${RUN}&tool=op_profile&group_by=provenance&view=flame` });
    await h.until("the frames", async () => (await drawn(tab)).blocks > 5);
    await tab.frame().focus(".flame canvas");
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await tab.page.keyboard.press(key);
    await h.until("the frame in the address", () => h.query(tab).get("frame")?.startsWith("jit_train_step(36)\n"));
    const again = await h.openPage(browser(), at.demo, { query: h.query(tab).toString() });
    await h.until("the same frame", async () => (await selected(again)) === (await selected(tab)));
    await again.frame().type(".flame-tools input", "dot");
    await h.shows(again, /\d+ frames, \d+\.\d% of time/);
    await again.frame().focus(".flame canvas");
    await again.page.keyboard.press("t");
    await h.shows(again, "Time, self");
    h.assertClean(tab);
    h.assertClean(again);
    await tab.page.close();
    await again.page.close();
  });
});
