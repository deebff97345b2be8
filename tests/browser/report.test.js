// Saved reports: one file shows what the server's pages show, without a request, also in a frame of another origin.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const SHARED = path.join(h.ROOT, "..", "shared", "traces", "logdir");
const samples = h.ALL && existsSync(SHARED);
const at = await h.served({
  demo: h.DEMO,
  hostile: "hostile",
  ...(samples ? { samples: SHARED } : {}),
});
const { directory } = h.temporaryDirectory();
/** Run -> the run that it is compared with, if any. */
const RUNS = [
  ["demo", "train_slow_input/2026_11_22_19_04_21", "train_prefetched/2026_11_22_19_04_16"],
  ...(h.ALL ? [["samples", "tpu_v6e_training_2hosts/2026_01_15_10_00_00", null], ["samples", "gpu_mi300_conv/2026_02_20_13_53_59", null]] : []),
].filter(([logdir]) => logdir in at);
const MARK = "<img src=x onerror=window.hostile=1>";

async function saved(logdir, run, base = null) {
  const query = new URLSearchParams({ run, ...(base ? { base } : {}) });
  const answer = await fetch(`${at[logdir].url}data/plugin/profile/report?${query}`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-disposition"), /^attachment; filename="profile_[\w.-]+\.html"$/);
  const file = path.join(directory, `${run.replaceAll(/\W+/g, "_")}.html`);
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
  return file;
}

/** Texts of the page below the note of the report, without the link to a page that asks the server anew. */
const pageText = async (tab) => {
  const text = await tab
    .frame()
    .evaluate(() => [...document.querySelectorAll("main .page")].map((one) => one.innerText.replace(/\s+/g, " ")).join(""));
  return text.replaceAll(/ ?What would it gain\?/g, "");
};

/** Ids of the tools with data. */
const toolsOf = (tab) =>
  tab
    .frame()
    .evaluate(() =>
      [...document.querySelectorAll(".rail-tools a[href]")]
        .filter((one) => !one.closest("details"))
        .map((one) => /[#?&]tool=([^&]+)/.exec(one.getAttribute("href"))[1]),
    );

async function choose(tab, tool) {
  await tab.page.bringToFront(); // a hidden page draws nothing
  await tab.frame().evaluate((wanted) => {
    const links = [...document.querySelectorAll(".rail-tools a[href]")];
    links.find((one) => /[#?&]tool=([^&]+)/.exec(one.getAttribute("href"))[1] === wanted).click();
  }, tool);
  await h.atRest(tab).catch((error) => assert.fail(`${tool}: ${error.message}`));
}

h.inEveryBrowser("saved reports", ({ name, browser }) => {
  for (const [logdir, run, base] of RUNS) {
    test(`${run}: every page is the server's`, { timeout: 240_000 }, async () => {
      const report = await h.openFile(browser(), await saved(logdir, run, base));
      await h.atRest(report);
      const address = `run=${encodeURIComponent(run)}${base ? `&base=${encodeURIComponent(base)}` : ""}`;
      const live = await h.openPage(browser(), at[logdir], {
        query: address,
      });
      await h.atRest(live);
      // As much room for the page as the server's has, below the note: tables draw the rows that fit.
      const note = await report.frame().evaluate(() => document.querySelector(".report-note").getBoundingClientRect().height);
      await report.page.setViewport({
        width: 1280,
        height: Math.round(656 + note),
      });
      const tools = await toolsOf(report);
      assert.ok(tools.length > 6, `${tools}`);
      for (const tool of tools) {
        for (const tab of [report, live]) await choose(tab, tool);
        if (tool !== "trace_viewer@") {
          await h.until(`${tool} as on the server`, async () => (await pageText(report)) === (await pageText(live)));
        }
        assert.doesNotMatch(await pageText(report), /Not in this report/, tool);
      }
      h.assertClean(report);
      await Promise.all([report.page.close(), live.page.close()]);
    });
  }

  test("the timeline zooms, searches, selects, and links from findings lead into it", async () => {
    const [logdir, run] = RUNS[0];
    const file = await saved(logdir, run);
    const tab = await h.openFile(browser(), file, `run=${run}&tool=trace_viewer@&find=train`);
    const timeline = () =>
      tab.frame().evaluate(() => {
        const { boxesLoaded, selection, window: shown } = window.__timeline;
        return {
          boxes: boxesLoaded,
          selected: selection.length,
          span: shown[1] - shown[0],
        };
      });
    await h.shows(tab, /each drawn separately|merged/);
    await tab.page.keyboard.press("ArrowDown"); // the first hit of the search
    await h.shows(tab, /\d+ of \d+/);
    const before = await timeline();
    assert.ok(before.boxes > 50, JSON.stringify(before));
    await tab.page.keyboard.press("w");
    await h.until("a closer view", async () => (await timeline()).span < before.span);
    await h.until("the window in the address", () => tab.frame().evaluate(() => location.hash.includes("window=")));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a frame of another origin shows it, without storage and history", async () => {
    const [logdir, run] = RUNS[0];
    const text = readFileSync(await saved(logdir, run), "utf8");
    const outer = path.join(directory, `frame-${name}.html`);
    const escaped = text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    writeFileSync(
      outer,
      `<!doctype html><meta charset="utf-8"><iframe sandbox="allow-scripts" width="1200" height="600" srcdoc="${escaped}"></iframe>`,
    );
    const tab = await h.openFile(browser(), outer);
    const frame = await h.until("the frame", () => tab.page.frames().find((one) => one !== tab.page.mainFrame()));
    const inner = { ...tab, frame: () => frame };
    await h.shows(inner, "Performance summary");
    await choose(inner, "op_profile");
    await h.shows(inner, "Ops on the CPU");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("hostile names stay text", async () => {
    const tab = await h.openFile(browser(), await saved("hostile", `${MARK} tpu/1`));
    await h.shows(tab, MARK);
    for (const tool of await toolsOf(tab)) await choose(tab, tool);
    const seen = await tab.frame().evaluate(() => ({
      ran: window.hostile ?? null,
      images: document.querySelectorAll("img[onerror], img[src='x']").length,
    }));
    assert.deepEqual(seen, { ran: null, images: 0 });
    h.assertClean(tab);
    await tab.page.close();
  });

  if (name === "chromium") {
    test("the overview and its report print on at most two pages", async () => {
      for (const [logdir, run] of RUNS) {
        const report = await h.openFile(browser(), await saved(logdir, run));
        const live = await h.openPage(browser(), at[logdir], { query: `run=${encodeURIComponent(run)}` });
        for (const tab of [report, live]) {
          await tab.page.bringToFront();
          await h.atRest(tab);
          const pdf = Buffer.from(await tab.page.pdf({ preferCSSPageSize: true, printBackground: true })).toString("latin1");
          const pages = pdf.match(/\/Type\s*\/Page\b/g).length;
          assert.ok(pages >= 1 && pages <= 2, `${run}: ${pages} pages`);
          await tab.page.close();
        }
      }
    });
  }
});
