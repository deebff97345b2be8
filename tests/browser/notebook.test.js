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
/** Cells import a framework and record it. */
const RECORDS = 600_000;

const at = n.skip ? {} : await h.served({ demo: h.DEMO });
let work;
let server;
before(() => {
  if (n.skip) return;
  work = h.temporaryDirectory();
  n.writeNotebook(path.join(work.directory, "pages.ipynb"), [CELL]);
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
      server ??= await n.startJupyter(work.directory);
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

const QUICK = { jax: "train_step", pytorch: "aten::" };
const FOUND = /Devices wait [\d.]+% of the step for code on the host: \S+\.py:\d+ image/;
const DRAWN = /each drawn separately|merged/;

/** What the timeline shows of the whole recording. */
const picture = (tab) =>
  tab.frame().evaluate(() => {
    const { boxesLoaded, tracks, lanes, full, window: shown, events, merged } = window.__timeline;
    return { boxesLoaded, tracks, lanes, full, window: shown.map(Math.round), events, merged };
  });

/** Opens the view of a widget on a server, at the same size. */
async function openOnServer(browser, server, tab) {
  const { view, width, height } = await tab
    .frame()
    .evaluate(() => ({ view: window.profileNotebook.view(), width: innerWidth, height: innerHeight }));
  return h.openPage(browser, server, { query: String(new URLSearchParams(view)), width, height: height + 64 });
}

/** The timeline zooms, pans, finds events and selects one of them; returns its name. */
async function workWithTimeline(tab, text) {
  const frame = tab.frame();
  const window = async () => String((await timeline(tab)).window);
  const moved = async (key) => {
    const before = await window();
    await tab.page.keyboard.press(key);
    await h.until(`the effect of ${key}`, async () => (await window()) !== before, SLOW);
  };
  await frame.focus(".tl-stage");
  await moved("w");
  await moved("d");
  await frame.focus("#tv-search");
  await tab.page.keyboard.type(text);
  await tab.page.keyboard.press("Enter");
  const found = () => frame.evaluate(() => /^[\d,]+ of [\d,]+$/.test(document.querySelector(".tv-hits").innerText));
  await h.until("a match", found, SLOW);
  await h.until("a selected event", async () => (await timeline(tab)).selected.length === 1, SLOW);
  return (await timeline(tab)).selected[0];
}

/** What the demos find, record, compare and show: the same in their cells, in the pages of their widgets and on a server. */
async function assertDemo(browser, page, server, framework) {
  const [overview, compared, trace] = (await n.widgetFrames(page, 3, RECORDS)).map((frame) => ({ page, frame: () => frame }));
  const [seen] = FOUND.exec(await h.shows(overview, FOUND, SLOW));
  const cells = () => page.evaluate(() => document.body.innerText);
  await h.until("the finding in a cell", async () => FOUND.exec(await cells())?.[0] === seen, SLOW);
  // Whatever it says on a machine that is busy with other work.
  const headline = () => compared.frame().evaluate(() => document.querySelector("main section.summary h2")?.innerText);
  await h.until("the comparison in a cell", async () => (await cells()).includes((await headline()) ?? "no headline"), SLOW);
  const board = await h.startTensorBoard(n.recordedLogdir(server, 2));
  try {
    for (const tab of [overview, compared]) {
      await h.atRest(tab);
      const live = await openOnServer(browser, board, tab);
      let texts = [];
      const same = async () => (texts = [await pageText(tab), await pageText(live)])[0] === texts[1] && texts[0].length > 200;
      await h.until("the page of the server", same, SLOW).catch(() => assert.equal(...texts));
      await live.page.close();
    }
    await page.bringToFront(); // a hidden page draws nothing
    await h.shows(trace, DRAWN, SLOW);
    const live = await openOnServer(browser, board, trace);
    await h.shows(live, DRAWN, SLOW);
    assert.deepEqual(await picture(trace), await picture(live));
    assert.ok((await picture(live)).boxesLoaded > 20);
    await live.page.close();
  } finally {
    await board.stop();
  }
  await page.bringToFront();
  return workWithTimeline(trace, QUICK[framework]);
}

for (const framework of ["jax", "pytorch"])
  h.inChromium(`the demo that records ${framework}`, ({ browser }) => {
    const packages = h.ALL ? n.packagesOf(framework) : [];
    const skip = n.skip || (h.ALL ? packages === null && `no environment with ${framework}` : "at night");
    const name = `record_${framework}`;
    const size = { width: 1280, height: 6000 }; // all cells at once: what is not shown draws nothing

    test("shows its runs in JupyterLab, and what is selected in Python", { skip, timeout: 1_100_000 }, async (t) => {
      n.putDemo(work.directory, name);
      const jupyter = await n.startJupyter(work.directory, packages);
      t.after(jupyter.stop);
      const lab = await n.openLab(browser(), jupyter, `${name}.ipynb`, size);
      await lab.runAll();
      const selected = await assertDemo(browser(), lab.page, jupyter, framework);
      await h.until(
        "the selection in Python",
        async () => (await lab.python(`print(*timeline.selection["name"])`)).trim() === selected,
        SLOW,
      );
      await lab.page.close();
    });

    test("shows its runs in marimo", { skip, timeout: 1_100_000 }, async (t) => {
      const marimo = await n.startMarimo(work.directory, n.putDemo(work.directory, name), packages);
      t.after(marimo.stop);
      const page = await browser().newPage();
      await page.setViewport(size);
      await page.goto(marimo.origin);
      await assertDemo(browser(), page, marimo, framework);
      await page.close();
    });
  });

h.inChromium("a widget in Notebook 7", ({ browser }) => {
  test("shows the pages", { skip: n.skip || (h.ALL ? false : "at night"), timeout: 400_000 }, async () => {
    server ??= await n.startJupyter(work.directory);
    const book = await n.openLab(browser(), server, "pages.ipynb", { at: "notebooks" });
    await book.runCell(0);
    const [frame] = await n.widgetFrames(book.page, 1);
    await h.shows({ page: book.page, frame: () => frame }, "Findings", SLOW);
    await book.page.close();
  });
});
