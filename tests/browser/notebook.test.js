// The widget in notebooks: what its pages show, how Python and they share the view, and what happens to the kernel.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import * as h from "./harness.js";
import * as n from "./notebooks.js";

const RUN = "train_slow_input/2026_11_22_19_04_21";
const BASE = "train_prefetched/2026_11_22_19_04_16";
const CELL = `import tpu_profile_plugin as tp\nlogdir = tp.open("${h.DEMO}")\nw = logdir.run("${RUN}").show(base="${BASE}")\nw`;

const TOOLS = { overview_page: "Overview Page", time_budget: "Time budget", compare: "Compare" };
/** A kernel and a server start, on a busy machine. */
const SLOW = 120_000;

const at = n.skip ? {} : await h.served({ demo: h.DEMO });
let work;
let server;
before(async () => {
  if (n.skip) return;
  work = h.temporaryDirectory();
  n.writeNotebook(path.join(work.directory, "pages.ipynb"), [CELL]);
  server = await n.startJupyter(work.directory);
});
after(async () => {
  await server?.stop();
  work?.remove();
});

/** What the page shows, without the shell around it. */
const pageText = (tab) =>
  tab.frame().evaluate(() => [...document.querySelectorAll("main .page")].map((one) => one.innerText.replace(/\s+/g, " ")).join(""));

const timeline = (tab) =>
  tab.frame().evaluate(() => {
    const { boxesLoaded, selection, window: shown } = window.__timeline;
    return { boxes: boxesLoaded, selected: selection.map(({ name }) => name), window: shown.map(Math.round) };
  });

/** The title of the page that is open. */
const title = (tab) => tab.frame().evaluate(() => document.querySelector(".crumbs h1")?.innerText);

h.inChromium("a widget in JupyterLab", ({ browser }) => {
  test(
    "shows the pages of the server, shares its view with Python, and survives the kernel",
    { skip: n.skip, timeout: 600_000 },
    async () => {
      const lab = await n.openLab(browser(), server, "pages.ipynb");
      const errors = [];
      lab.page.on("pageerror", (error) => errors.push(String(error)));
      await lab.runCell(0);
      let frame = (await n.widgetFrames(lab.page, 1))[0];
      const tab = { page: lab.page, frame: () => frame };
      await h.atRest(tab);
      const { width, height } = await frame.evaluate(() => ({ width: innerWidth, height: innerHeight }));
      for (const [tool, name] of Object.entries(TOOLS)) {
        await lab.page.bringToFront(); // a hidden page draws nothing
        await lab.python(`w.page = "${tool}"`);
        await h.until(`the page ${name}`, async () => (await title(tab)) === name, SLOW);
        await h.atRest(tab);
        const query = `run=${encodeURIComponent(RUN)}&base=${encodeURIComponent(BASE)}&tool=${tool}`;
        const live = await h.openPage(browser(), at.demo, { query, width, height: height + 64 });
        await h.until(`the page ${name}`, async () => (await title(live)) === name, SLOW);
        await h.atRest(live);
        let texts = [];
        const same = async () => (texts = [await pageText(tab), await pageText(live)])[0] === texts[1];
        await h.until(`${tool} as on the server`, same, SLOW).catch(() => assert.equal(...texts, tool));
        await live.page.close();
      }

      await lab.page.bringToFront();
      await lab.python(`w.base = None\nw.page = "trace_viewer@"`);
      await h.shows(tab, /each drawn separately|merged/, SLOW);
      const whole = await timeline(tab);
      assert.ok(whole.boxes > 50, JSON.stringify(whole));
      await frame.focus(".tl-stage");
      await lab.page.keyboard.press("w");
      await h.until("a closer view", async () => String((await timeline(tab)).window) !== String(whole.window));
      await h.until("the window in Python", async () => {
        const { window: now } = await timeline(tab);
        return (await lab.python(`print(w.window)`)).trim() === `(${now[0]}, ${now[1]})`;
      });
      // A search selects in the page, and the selection is in Python.
      await lab.python(`w.view = {**w.view, "find": "train_step", "match": "part"}`);
      await h.shows(tab, /\d+ of \d+|\d+ match/, SLOW);
      await lab.page.keyboard.press("ArrowDown");
      await h.until("a selected event", async () => (await timeline(tab)).selected.length === 1);
      const [name] = (await timeline(tab)).selected;
      await h.until("the selection in Python", async () => (await lab.python(`print(*w.selection["name"])`)).trim() === name);

      // The notebook is loaded anew, the kernel lives: the same view.
      const before = await timeline(tab);
      await lab.save();
      // JupyterLab gives a kernel four seconds to tell its widgets.
      for (let i = 0; i < 3; i++) {
        await lab.reload();
        [frame] = await n.widgetFrames(lab.page, 1, 30_000).catch(() => [null]);
        if (frame) break;
      }
      await h.shows(tab, /each drawn separately|merged/, SLOW);
      await h.until("the same window", async () => String((await timeline(tab)).window) === String(before.window));

      // The kernel is restarted: the cell says so.
      await lab.restart();
      await h.until("a word about the restart", () => lab.page.evaluate(() => /run this cell again/.test(document.body.innerText)), SLOW);
      await lab.runCell(0);
      frame = (await n.widgetFrames(lab.page, 1))[0];
      await h.shows(tab, "Findings", SLOW);
      assert.deepEqual(errors, []);
      await lab.page.close();
    },
  );
});

/** What the demos find, record and repair: the same in the cells and in the pages of their widgets. */
async function assertDemo(page, frames) {
  const [overview, trace] = frames.map((frame) => ({ page, frame: () => frame }));
  const found = /Devices wait [\d.]+% of the step for code on the host: \S+\.py:\d+ image/;
  const [seen] = found.exec(await h.shows(overview, found, SLOW));
  const cells = () => page.evaluate(() => document.body.innerText);
  await h.until("the finding in a cell", async () => found.exec(await cells())?.[0] === seen, SLOW);
  await h.until("the comparison in a cell", async () => /[\d.]+% faster/.test(await cells()), SLOW);
  await h.shows(trace, /each drawn separately|merged/, SLOW);
  assert.ok((await timeline(trace)).boxes > 20);
}

h.inChromium("a demo that records itself", ({ browser }) => {
  test("shows its run in marimo", { skip: n.skip, timeout: 600_000 }, async (t) => {
    const marimo = await n.startMarimo(work.directory, path.join(h.DEMO, "record_jax.ipynb"));
    t.after(marimo.stop);
    const page = await browser().newPage();
    await page.setViewport({ width: 1280, height: 4000 });
    await page.goto(marimo.origin);
    await assertDemo(page, await n.widgetFrames(page, 2, SLOW));
    await page.close();
  });
});
