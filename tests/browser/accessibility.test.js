// Every page by axe-core: roles, names, labels, contrast, order of headings; in light and dark, and at 200 % zoom.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import * as h from "./harness.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WORST = ["serious", "critical"];
const SESSION = "2026_11_20_10_00_00";
const demo = (run) => `${run}/${readdirSync(path.join(h.DEMO, run, "plugins", "profile"))[0]}`;

// Page -> run with much data, and a text that is on the complete page.
const BUILT = {
  overview_page: ["pod", "Performance summary"],
  input_pipeline_analyzer: ["pod", "Device step time"],
  pod_viewer: ["pod", "Selected step"],
  framework_op_stats: ["gpu", "Include IDLE"],
  inference_profile: ["serving", "Request level analysis"],
  time_budget: ["tpu_collectives", "Average step"],
  communication: ["tpu_collectives", "Collectives"],
};
const DEMOS = {
  "trace_viewer@": "jax_mlp",
  op_profile: "jax_mlp",
  hlo_stats: "jax_mlp",
  roofline_model: "jax_mlp",
  graph_viewer: "jax_mlp",
  memory_viewer: "jax_mlp",
  memory_profile: "tf_input",
  profile_contents: "jax_mlp",
  tf_data_bottleneck_analysis: "tf_input",
};

// Pages with a base.
const PAIRS = { compare: "What changed", hlo_stats: "Compared with", op_profile: "Compared with", "trace_viewer@": "Aligned at" };

let built;
let server;
let demos;
before(async () => {
  built = h.temporaryDirectory();
  h.build("step_profiles", built.directory);
  h.build("device_profiles", built.directory);
  h.build("compared", built.directory);
  [server, demos] = await Promise.all([h.startTensorBoard(built.directory), h.startTensorBoard(h.DEMO)]);
});
after(async () => {
  await server?.stop();
  await demos?.stop();
  built?.remove();
});

/** The violations, one line each. */
async function findings(tab) {
  const frame = tab.frame();
  await frame.evaluate(AXE);
  const { violations } = await frame.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => WORST.includes(impact))
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)} (${node.any[0]?.message ?? node.all[0]?.message ?? ""})`));
}

async function open(browser, at, run, tool, base) {
  const query = new URLSearchParams({ run, tool, ...(base ? { base } : {}) }).toString();
  const tab = await h.openProfile(browser, at, { query });
  await h.until(`${tool} to be drawn`, () => tab.frame().evaluate(() => document.querySelector("main") !== null && document.querySelector(".loading") === null));
  return tab;
}

const pages = [
  ...Object.entries(BUILT).map(([tool, [run, wanted]]) => [tool, () => server, `${run}/${SESSION}`, wanted]),
  ...Object.entries(DEMOS).map(([tool, run]) => [tool, () => demos, demo(run), null]),
  ...Object.entries(PAIRS).map(([tool, wanted]) => [tool, () => server, "tpu/2026_11_20_11_00_00", wanted, `tpu/${SESSION}`]),
];
const [chromium] = h.BROWSERS; // axe-core reads a page alike in every browser

describe("accessibility", { skip: chromium.skip }, () => {
  let browser;
  before(async () => {
    browser = await h.launch(chromium);
  });
  after(() => browser?.close());

  for (const [tool, at, run, wanted, base] of pages) {
    test(`${tool}${base ? " with a base" : ""} has no serious finding, light or dark, and none at 200 %`, async () => {
      const tab = await open(browser, at(), run, tool, base);
      if (wanted) await h.shows(tab, wanted);
      await h.pause(300);
      const found = {};
      for (const theme of ["light", "dark"]) {
        await tab.frame().evaluate((value) => (document.documentElement.dataset.theme = value), theme);
        await h.pause(300);
        found[theme] = await findings(tab);
      }
      // 200 % of a window 1280 wide is a window of 640.
      await tab.page.setViewport({ width: 640, height: 360 });
      await h.pause(300);
      found.zoomed = await findings(tab);
      assert.deepEqual(found, { light: [], dark: [], zoomed: [] });
      h.assertClean(tab);
      await tab.page.close();
    });
  }

  for (const [tool, at, run, wanted, base] of pages) {
    test(`${tool}${base ? " with a base" : ""} is reached and left by Tab alone`, async () => {
      const tab = await open(browser, at(), run, tool, base);
      if (wanted) await h.shows(tab, wanted);
      await h.pause(300);
      await tab.frame().evaluate(() => document.querySelector("button.capture").focus());
      const seen = { page: new Set(), tools: 0, left: false };
      for (let i = 0; i < 400 && !seen.left; i++) {
        await tab.page.keyboard.press("Tab");
        const at = await tab.frame().evaluate(() => {
          const focused = document.activeElement;
          if (!document.hasFocus() || focused === document.body) return { left: true };
          const path = [];
          for (let e = focused; e; e = e.parentElement) path.push([...(e.parentElement?.children ?? [])].indexOf(e));
          const style = getComputedStyle(focused);
          const marked = style.outlineStyle !== "none" || style.boxShadow !== "none" || style.backgroundImage !== "none";
          return { left: false, page: Boolean(focused.closest("main")), marked: Boolean(marked), path: path.join(), name: focused.className };
        });
        seen.left = at.left;
        if (at.page) seen.page.add(at.path);
        else if (!at.left) seen.tools += 1;
        assert.ok(at.left || at.marked, `the focus cannot be seen on ${at.name}`);
      }
      assert.ok(seen.left, "Tab never leaves the page");
      assert.ok(seen.page.size >= 2, `Tab stops at ${seen.page.size} places of the page`);
      h.assertClean(tab);
      await tab.page.close();
    });
  }
});
