// The pages on steps and ops: overview, input pipeline, framework ops, pod viewer, inference profile.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const SESSION = "2026_11_20_10_00_00";
const link = (run, tool, more = "") => `run=${encodeURIComponent(`${run}/${SESSION}`)}&tool=${tool}${more}`;
const demo = (run, tool) => `run=${encodeURIComponent(`${run}/${readdirSync(path.join(h.DEMO, run, "plugins", "profile"))[0]}`)}&tool=${tool}`;

const at = await h.served({ steps: "step_profiles", demo: h.DEMO });

/** Opens a page and waits until `wanted` is on it. */
async function open(browser, query, wanted, { server = at.steps, ...size } = {}) {
  const tab = await h.openPage(browser, server, { query, ...size });
  await h.shows(tab, wanted);
  return tab;
}

async function close(tab) {
  h.assertClean(tab);
  await tab.page.close();
}

/** Waits until the first chart is drawn, and returns its number of places. */
function drawn(tab, selector = ".chart-canvas") {
  return h.until("a drawn chart", async () => Number(await tab.frame().$eval(`${selector}[data-drawn]`, (element) => element.dataset.drawn)));
}

/** Clicks the button or link whose text matches. */
function press(tab, scope, wanted) {
  return h.until(`a click on a button ${wanted}`, async () => {
    for (const element of await tab.frame().$$(`${scope} :is(button, a)`)) {
      if (!wanted.test(await element.evaluate((e) => e.textContent))) continue;
      await element.click();
      return true;
    }
    return false;
  });
}

/** Clicks into the first chart, `x` as a share of its width, until `done`: a chart that is still being laid out takes no click. */
function clickChart(tab, x, what, done) {
  return h.until(what, async () => {
    if (await done()) return true;
    const canvas = await tab.frame().$(".chart-canvas");
    await canvas.evaluate((element) => element.scrollIntoView({ block: "center" }));
    const box = await canvas.boundingBox();
    await tab.page.mouse.move(box.x + box.width * x, box.y + box.height * 0.6);
    await h.pause(100);
    await tab.page.mouse.click(box.x + box.width * x, box.y + box.height * 0.6);
    return h.until(what, done, 3000);
  });
}

const said = (tab) => tab.frame().$eval('.chart [aria-live="polite"]', (element) => element.textContent);

h.inEveryBrowser("pages", ({ name, browser }) => {
  test("the overview says what limits, names the straggler, and a step opens in the trace viewer", async () => {
    const tab = await open(browser(), link("pod", "overview_page"), "Straggler: h2 (1.500 ms");
    // 500 us of one of three hosts, every 3 ms.
    await h.shows(tab, "The host waits 5.6% of the time from step to step for input");
    await h.click(tab, ".finding details > summary");
    await h.shows(tab, "166.7 us of 166.7 us");
    assert.equal(await drawn(tab), 4);
    await h.screenshot(tab, `overview-${name}`);
    await clickChart(tab, 0.3, "the trace viewer in the address", () => h.query(tab).get("tool") === "trace_viewer@");
    const [begin, end] = h.query(tab).get("window").split(",").map(Number);
    assert.ok(end > begin && end - begin < 2e9, "the window is about one step long");
    await tab.page.goBack();
    await h.shows(tab, "Straggler: h2");
    await press(tab, ".tips", /^Trace viewer/);
    await h.until("the linked tool", () => h.query(tab).get("tool") === "trace_viewer@");
    await close(tab);
  });

  test("a chart is read by arrow keys and becomes a table with t", async () => {
    const tab = await open(browser(), link("pod", "overview_page"), "Step-time graph");
    await drawn(tab);
    await tab.frame().focus(".chart-body");
    await tab.page.keyboard.press("ArrowRight");
    await h.until("the first step in words", async () => /^Step train 1: All parts 1\.167 ms, Host compute 600 us \(51\.4%\), Unexplained 400 us \(34\.3%\), Input 166\.7 us \(14\.3%\)$/.test(await said(tab)));
    await tab.page.keyboard.press("End");
    await h.until("the last step in words", async () => /^Step train 4/.test(await said(tab)));
    await tab.page.keyboard.press("t");
    await h.until("the table of the chart", async () => (await tab.frame().$$(".chart .table-tr")).length === 4);
    await tab.page.keyboard.press("t");
    await drawn(tab);
    const canvas = await tab.frame().$(".chart-canvas");
    await canvas.evaluate((element) => element.scrollIntoView({ block: "center" }));
    const box = await canvas.boundingBox();
    await tab.page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
    await tab.page.mouse.down();
    await tab.page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 3 });
    await tab.page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2, { steps: 3 });
    await tab.page.mouse.up();
    await h.until("a closer look", async () => (await drawn(tab)) === 2);
    assert.equal(h.query(tab).get("tool"), "overview_page", "a drag is no click");
    await press(tab, ".chart-head", /Show all 4/);
    await h.until("all steps", async () => (await drawn(tab)) === 4);
    await press(tab, ".chart-legend", /Unexplained/);
    await h.until("a hidden part", () => tab.frame().$('.chart-legend button[aria-pressed="false"]'));
    await close(tab);
  });

  test("steps without markers are labelled as inferred, or come from a named event", async () => {
    const tab = await open(browser(), link("unmarked", "overview_page"), "Inferred steps");
    await press(tab, ".inferred .card-head", /Inferred steps/);
    await h.shows(tab, "jit_step(3)");
    await (await tab.frame().$("#step-event")).type("my_step");
    await press(tab, ".event-form", /Use it/);
    await h.until("the event in the address", () => h.query(tab).get("step_event") === "my_step");
    await h.shows(tab, "Steps by a named event");
    await h.screenshot(tab, `overview-named-${name}`);
    await press(tab, ".event-form", /Remove/);
    await h.shows(tab, "Inferred steps");
    assert.equal(h.query(tab).get("step_event"), null);
    await close(tab);
  });

  test("a GPU's steps are shown by the time budget and, on request, as XProf reads them", async () => {
    const tab = await open(browser(), link("gpu", "overview_page"), "Kernel launch");
    await press(tab, ".reading", /XProf/);
    await h.until("the choice in the address", () => h.query(tab).get("reading") === "xprof");
    await h.until("a legend without launches", async () => !/Kernel launch/.test(await tab.frame().$eval(".chart-legend", (e) => e.textContent)));
    const old = h.query(tab);
    old.delete("reading");
    old.set("view", "xprof");
    const again = await open(browser(), old.toString(), "Step-time graph");
    assert.equal(await again.frame().$eval('.reading button[aria-pressed="true"]', (e) => e.textContent), "As XProf");
    await close(tab);
    await close(again);
  });

  test("requests without steps: latency by percentile, on to the requests", async () => {
    const tab = await open(browser(), link("serving", "overview_page"), "5 requests, 2 ms on average.");
    await h.shows(tab, "Inference session latency breakdown");
    assert.equal(await drawn(tab, '[aria-label^="Latency"].chart-canvas'), 6);
    await press(tab, ".chart-head", /Individual requests/);
    await h.until("the inference profile", () => h.query(tab).get("tool") === "inference_profile");
    await close(tab);
  });

  test("the input page says how bound, splits the host's work and lists its ops", async () => {
    const tab = await open(browser(), demo("tf_input", "input_pipeline_analyzer"), "Input op statistics", { server: at.demo });
    await h.shows(tab, /input-bound/i);
    await h.shows(tab, "Data preprocessing");
    assert.ok((await tab.frame().$$(".input-ops .table-tr")).length > 2);
    await press(tab, ".input-ops .card-head", /Input op statistics/);
    assert.equal((await tab.frame().$$(".input-ops .table-tr")).length, 0);
    await h.screenshot(tab, `input-${name}`);
    await close(tab);
  });

  test("framework ops: idle switch, a slice filters the table, the link keeps both", async () => {
    const tab = await open(browser(), demo("tf_input", "framework_op_stats"), "Include IDLE time", { server: at.demo });
    await press(tab, ".idle-switch", /Yes/);
    await h.until("the switch in the address", () => h.query(tab).get("idle") === "yes");
    await h.until("a slice of idle time", async () => /IDLE/.test(await tab.frame().$eval(".pie-list", (e) => e.textContent)));
    await press(tab, ".idle-switch", /No/);
    const rows = () => tab.frame().$$eval(".op-table .table-tr", (all) => all.length);
    const before = await rows();
    await h.click(tab, ".pie-list li button");
    await h.until("fewer rows", async () => (await rows()) > 0 && (await rows()) < before);
    await h.until("the filter in the address", () => /type~/.test(h.query(tab).get("t1.filter") ?? ""));
    await h.screenshot(tab, `framework-ops-${name}`);
    const again = await open(browser(), h.query(tab).toString(), /of \d+ rows/, { server: at.demo });
    await close(tab);
    await close(again);
  });

  test("pod viewer: the slider changes the step, a click keeps a worker's card", async () => {
    const tab = await open(browser(), link("pod", "pod_viewer"), /h2 is slow, 1\.500 ms, 50\.0% longer/);
    assert.equal(await drawn(tab), 3);
    await tab.frame().focus("#pod-step");
    await tab.page.keyboard.press("ArrowRight");
    await h.until("the step in the address", () => h.query(tab).get("step") !== null);
    await clickChart(tab, 0.25, "the step breakdown", async () => (await h.text(tab.frame())).includes("Step breakdown of h0: Host"));
    await h.shows(tab, /Host compute\s+0\.600 ms \(60\.0%\)/);
    await h.screenshot(tab, `pod-${name}`);
    const again = await open(browser(), h.query(tab).toString(), "Step breakdown of h0: Host");
    await press(again, ".reading", /XProf/);
    await h.shows(again, /Step breakdown of worker-0[^]*Host compute\s+0\.600 ms \(60\.0%\)/);
    await close(tab);
    await close(again);
  });

  test("inference: models, order of percentiles, a request opens in the trace viewer", async () => {
    const tab = await open(browser(), link("serving", "inference_profile"), "Request level analysis");
    await tab.frame().select("#model", "m:1");
    await h.until("the model in the address", () => h.query(tab).get("model") === "m:1");
    await h.shows(tab, "requests per second");
    await tab.frame().select(".order select", "Device compute");
    await h.until("the order in the address", () => h.query(tab).get("request_column") === "Device compute");
    await h.shows(tab, "by percentile of Device compute");
    assert.equal(await drawn(tab), 4);
    await h.screenshot(tab, `inference-${name}`);
    await clickChart(tab, 0.2, "the trace viewer in the address", () => h.query(tab).get("tool") === "trace_viewer@");
    assert.match(h.query(tab).get("window"), /^\d+,\d+$/);
    await close(tab);
  });

  test("every page fits 1280 and 800 pixels, in light and dark", async () => {
    const pages = [
      [link("pod", "overview_page"), "Performance summary"], [link("gpu", "framework_op_stats"), "Include IDLE"], [link("pod", "pod_viewer"), "Selected step"],
      [link("pod", "input_pipeline_analyzer"), "Device step time"], [link("serving", "inference_profile"), "Request level analysis"],
    ];
    for (const [query, wanted] of pages) {
      const tab = await open(browser(), query, wanted);
      for (const [width, theme] of [[1280, "light"], [800, "dark"]]) {
        await tab.page.setViewport({ width, height: 720 });
        await tab.frame().evaluate((value) => { document.documentElement.dataset.theme = value; }, theme);
        await h.atRest(tab);
        const [wide, room] = await tab.frame().$eval(".tool-page", (element) => [element.scrollWidth, element.clientWidth]);
        assert.ok(wide <= room, `${query} is ${wide} px wide in ${room} px`);
      }
      await close(tab);
    }
  });
});

// Firefox cannot be asked to lay out for print through WebDriver BiDi.
h.inChromium("pages on paper", ({ browser }) => {
  test("printing shows the whole page, without rail and scrolling, in the light theme", async () => {
    const tab = await open(browser(), link("gpu", "overview_page"), "Kernel launch");
    await drawn(tab);
    await tab.page.emulateMediaType("print");
    const seen = await tab.frame().evaluate(() => {
      document.documentElement.dataset.theme = "dark";
      window.dispatchEvent(new Event("beforeprint"));
      const scrolling = [...document.querySelectorAll("body *")].filter((e) => e.scrollHeight > e.clientHeight + 4 && /auto|scroll/.test(getComputedStyle(e).overflowY) && e.clientHeight > 0);
      return { theme: document.documentElement.dataset.theme, rail: document.querySelector(".rail").offsetHeight, scrolling: scrolling.map((e) => e.className) };
    });
    assert.deepEqual(seen, { theme: "light", rail: 0, scrolling: [] });
    await close(tab);
  });
});
