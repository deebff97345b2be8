// The tf.data page on profiles of programs whose bottleneck is known: summary, graph by mouse and keys, executions, links, URL state.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const TOOL = "tf_data_bottleneck_analysis";
const at = await h.served({ programs: path.join(h.ROOT, "tests", "profiles"), demo: h.DEMO });

/** Runs and their bottleneck: on a push two of them. */
const BOTTLENECKS = [
  ["slow_map/", "Map"], ["slow_source_interleave", "TFRecord"],
  ...(h.ALL ? [["from_generator", "Generator"], ["slow_map_and_batch", "MapAndBatch"], ["two_devices", "Map"]] : []),
];

/** The first run whose name begins with `name`. */
async function runOf(where, name) {
  const runs = await (await fetch(`${where.url}data/plugin/profile/runs`)).json();
  const run = runs.find((one) => one.startsWith(name));
  assert.ok(run, `no run ${name} among ${runs}`);
  return run;
}

async function open(browser, name, { where = at.programs, tool = TOOL, width, height, ...more } = {}) {
  const query = new URLSearchParams({ run: await runOf(where, name), tool, ...more }).toString();
  return h.openPage(browser, where, { query, ...(width ? { width } : {}), ...(height ? { height } : {}) });
}

/** Clicks the first button or link of the page whose text has `words`. */
async function press(tab, words) {
  const found = await h.until(`"${words}" to press`, async () => {
    for (const element of await tab.frame().$$(".tool-page button, .tool-page a")) if ((await element.evaluate((e) => e.textContent)).includes(words)) return element;
    return null;
  });
  await found.click();
}

const texts = (tab, selector) => tab.frame().$$eval(selector, (all) => all.map((one) => one.textContent));
const graph = (tab) => h.until("the graph", () => tab.frame().$(".graph-view-box .tfd-node"));
const focus = (tab, selector) => tab.frame().$eval(selector, (one) => one.focus());

h.inEveryBrowser("tf.data", ({ name, browser }) => {
  for (const [run, bottleneck] of BOTTLENECKS) {
    test(`${run.replace("/", "")}: the bottleneck is named, drawn and explained`, async () => {
      const tab = await open(browser(), `tf_data_221/${run}`);
      await h.shows(tab, new RegExp(`Input pipeline Host:0 of \\S+ is slow: ${bottleneck} is its bottleneck`));
      await graph(tab);
      assert.deepEqual(await texts(tab, ".tfd-node.bottleneck .tfd-name"), [bottleneck]);
      // Never by colour alone: a mark in words, and a border of another kind.
      assert.deepEqual(await texts(tab, ".tfd-node.bottleneck .tfd-role"), ["▲ Bottleneck"]);
      await h.shows(tab, "How to read its long name");
      await h.until("bars of executions", () => tab.frame().$(".tfd-bar.bottleneck"));
      await h.screenshot(tab, `tf-data-${run.replace(/\W/g, "")}-${name}`);
      h.assertClean(tab);
      await tab.page.close();
    });
  }

  test("the recorded parallelism and autotuning are shown, and the advice says what to write", async () => {
    const tab = await open(browser(), "tf_data_221/slow_map_and_batch");
    await graph(tab);
    await h.shows(tab, "It works on one element at a time, fixed by the program (tf.data may use 2 CPUs). Write .map(f, num_parallel_calls=tf.data.AUTOTUNE).batch(4).");
    assert.ok((await texts(tab, ".tfd-advice code")).includes(".map(f, num_parallel_calls=tf.data.AUTOTUNE).batch(4)"));
    const details = await h.shows(tab, /Parallelism\s+1\s+Autotune\s+off: fixed by the program/);
    assert.match(details, /Batch size\s+4 elements/);
    // The description for screen readers is not drawn.
    assert.equal(await tab.frame().$eval(".tfd-spoken", (one) => getComputedStyle(one).fill), "none");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("keys go through the graph, zoom it, and the address keeps the iterator", async () => {
    const tab = await open(browser(), "tf_data_221/slow_source_interleave", { width: 800, height: 720 });
    await graph(tab);
    const [wide, room] = await tab.frame().$eval(".tool-page", (page) => [page.scrollWidth, page.clientWidth]);
    assert.ok(wide <= room, `${wide} px in ${room} px`);
    await focus(tab, ".graph-view-box");
    await tab.page.keyboard.press("b");
    await h.until("the bottleneck chosen", async () => (await texts(tab, ".tfd-node.selected .tfd-name"))[0] === "TFRecord");
    const worst = await h.until("its id in the address", () => new URL(tab.page.url()).searchParams.get("iterator"));
    await tab.page.keyboard.press("ArrowUp");
    await h.until("its consumer", async () => (await texts(tab, ".tfd-node.selected .tfd-name"))[0] === "FlatMap");
    await tab.page.keyboard.press("Home");
    await h.until("the root", async () => (await texts(tab, ".tfd-details h3"))[0] === "Root");
    const width = () => tab.frame().$eval(".graph-view-svg", (svg) => svg.getBoundingClientRect().width);
    const before = await width();
    await tab.page.keyboard.press("+");
    await h.until("a larger picture", async () => (await width()) > before * 1.2);
    await tab.page.keyboard.press("0");
    await h.until("a picture that fits", async () => tab.frame().$eval(".graph-view-box", (box) => box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight));
    assert.equal(await tab.frame().$eval(".graph-view-box", (box) => document.getElementById(box.getAttribute("aria-activedescendant"))?.getAttribute("aria-level")), "1");
    h.assertClean(tab);
    await tab.page.close();

    const linked = await open(browser(), "tf_data_221/slow_source_interleave", { iterator: worst });
    await h.until("the iterator of the link", async () => (await texts(linked, ".tfd-node.selected .tfd-name"))[0] === "TFRecord");
    await linked.page.close();
  });

  test("the mouse moves the graph without choosing, a click chooses, the wheel zooms about the pointer", async () => {
    const tab = await open(browser(), "tf_data_221/two_devices");
    await graph(tab);
    const box = await tab.frame().$(".graph-view-box");
    await box.evaluate((one) => one.scrollIntoView({ block: "center" }));
    const area = await box.boundingBox();
    for (let i = 0; i < 4; i++) await press(tab, "+");
    await h.until("a picture larger than its box", () => box.evaluate((one) => one.scrollHeight > one.clientHeight + 100));
    await box.evaluate((one) => one.scrollTo(0, 50));
    await tab.page.mouse.move(area.x + area.width / 2, area.y + area.height / 2);
    await tab.page.mouse.down();
    await tab.page.mouse.move(area.x + area.width / 2, area.y + area.height / 2 - 30);
    await tab.page.mouse.move(area.x + area.width / 2, area.y + area.height / 2 - 60);
    await tab.page.mouse.up();
    await h.until("a picture that moved", async () => (await box.evaluate((one) => one.scrollTop)) >= 100);
    assert.equal(new URL(tab.page.url()).searchParams.get("iterator"), null);
    const node = await tab.frame().$(".tfd-node.bottleneck .tfd-frame");
    await node.evaluate((one) => one.scrollIntoView({ block: "center" }));
    await node.click();
    await h.until("a chosen iterator", () => tab.frame().$(".tfd-node.bottleneck.selected"));
    const percent = async () => Number(/(\d+)%/.exec((await texts(tab, ".graph-view-tools"))[0])[1]);
    const large = await percent();
    await tab.frame().$eval(".graph-view-box", (one) => {
      const { left, top } = one.getBoundingClientRect();
      one.dispatchEvent(new WheelEvent("wheel", { deltaY: 100, ctrlKey: true, bubbles: true, cancelable: true, clientX: left + 50, clientY: top + 50 }));
    });
    await h.until("a smaller picture", async () => Math.abs((await percent()) / large - 0.8) < 0.02);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("pickers of pipeline and rank, the table of iterators, all of it in the address", async () => {
    const tab = await open(browser(), "tf_data_221/two_devices");
    await graph(tab);
    await h.click(tab, ".tfd-pickers .pick button"); // a single host has no picker
    await h.until("the list of pipelines", async () => (await texts(tab, ".pick-list .option-main")).join() === "Host:0,Device:0,Device:1");
    await tab.page.keyboard.press("ArrowDown");
    await tab.page.keyboard.press("Enter");
    await h.until("the device pipeline", () => new URL(tab.page.url()).searchParams.get("pipeline") === "Device:0");
    await focus(tab, "#tfd-rank");
    await tab.page.keyboard.press("ArrowUp");
    await h.until("rank 1 in the address", () => new URL(tab.page.url()).searchParams.get("rank") === "1");
    await h.shows(tab, /Run 1 took [\d.]+ [mu]s; \d+ executions? on \d+ threads?\./);
    await press(tab, "Table");
    await h.shows(tab, "Self duration");
    await h.until("rows of iterators", async () => (await texts(tab, ".tfd-graph-card .table-row .table-cell.first")).includes("Root"));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the strip reads by keys, zooms, and opens the trace viewer at its window", async () => {
    const tab = await open(browser(), "tf_data_221/slow_map/");
    await h.until("the executions chart", () => tab.frame().$(".tfd-bar"));
    await focus(tab, ".tfd-executions-scroll");
    await tab.page.keyboard.press("ArrowDown");
    await tab.page.keyboard.press("ArrowRight");
    await h.until("what an execution says", async () => (await texts(tab, ".tfd-executions-scroll [aria-live]"))[0].includes("Duration"));
    await tab.page.keyboard.press("+");
    const range = await h.until("the zoom in the address", () => new URL(tab.page.url()).searchParams.get("range"));
    await press(tab, "Open in the trace viewer");
    await h.until("the trace viewer at that window", () => new URL(tab.page.url()).searchParams.get("tool") === "trace_viewer@" && new URL(tab.page.url()).searchParams.get("window") === range);
    await h.until("a drawn timeline", () => tab.frame().$("canvas"));
    await tab.page.goBack();
    await h.until("the page of before", () => tab.frame().$(".tfd-bar"));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the input pipeline leads here, only where there is tf.data", async () => {
    for (const [tool, words] of [["input_pipeline_analyzer", "which pipeline is slow"]]) {
      const tab = await open(browser(), "tf_input", { where: at.demo, tool });
      await press(tab, words);
      await h.until("the tf.data page", () => new URL(tab.page.url()).searchParams.get("tool") === TOOL);
      await graph(tab);
      await tab.page.close();
      const other = await open(browser(), "jax_mlp", { where: at.demo, tool });
      await h.shows(other, "Host-side analysis");
      assert.doesNotMatch(await h.text(other.frame()), /which transformation|which of its transformations/);
      h.assertClean(other);
      await other.page.close();
    }
  });

  test("a profile without tf.data says why there is nothing", async () => {
    const tab = await open(browser(), "jax_mlp", { where: at.demo });
    await h.shows(tab, /tf\.data activity/);
    assert.equal(await tab.frame().$(".graph-view-box"), null);
    h.assertClean(tab, { expected: /tf_data/ });
    await tab.page.close();
  });
});
