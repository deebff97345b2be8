// Every page by axe-core: roles, names, labels, contrast, order of headings; at night also in dark, at 200 % zoom, and by Tab.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WORST = ["serious", "critical"];
const SESSION = "2026_11_20_10_00_00";
const demo = (run) => `${run}/${readdirSync(path.join(h.DEMO, run, "plugins", "profile"))[0]}`;

// Page -> server, run with much data, and a text that is on the complete page.
const BUILT = {
  overview_page: ["steps", "pod", "Performance summary"],
  input_pipeline_analyzer: ["steps", "pod", "Device step time"],
  pod_viewer: ["steps", "pod", "Selected step"],
  framework_op_stats: ["steps", "gpu", "Include IDLE"],
  inference_profile: ["steps", "serving", "Request level analysis"],
  time_budget: ["devices", "tpu_collectives", "Average step"],
  communication: ["devices", "tpu_collectives", "Collectives"],
};
const DEMOS = {
  "trace_viewer@": "jax_mlp",
  op_profile: "jax_mlp",
  hlo_stats: "jax_mlp",
  source_view: "jax_mlp",
  what_if: "train_slow_input",
  roofline_model: "jax_mlp",
  graph_viewer: "jax_mlp",
  memory_viewer: "jax_mlp",
  memory_profile: "tf_input",
  profile_contents: "jax_mlp",
  query: "jax_mlp",
  tf_data_bottleneck_analysis: "tf_input",
};

// Pages with a base.
const PAIRS = { compare: "What changed", hlo_stats: "Compared with", op_profile: "Compared with", "trace_viewer@": "Aligned at" };

const at = await h.served({ steps: "step_profiles", devices: "device_profiles", compared: "compared", demo: h.DEMO });

/** The violations of all rules, or of some, one line each. */
async function findings(tab, rules) {
  const frame = tab.frame();
  if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(AXE);
  const { violations } = await frame.evaluate((only) => window.axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) }), rules);
  return violations
    .filter(({ impact }) => WORST.includes(impact))
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)} (${node.any[0]?.message ?? node.all[0]?.message ?? ""})`));
}

async function open(browser, server, run, tool, base) {
  const query = new URLSearchParams({ run, tool, ...(base ? { base } : {}) }).toString();
  const tab = await h.openPage(browser, server, { query });
  await h.until(`${tool} to be drawn`, () => tab.frame().evaluate(() => document.querySelector("main") !== null && document.querySelector(".loading") === null));
  return tab;
}

const pages = [
  ...Object.entries(BUILT).map(([tool, [server, run, wanted]]) => ({ tool, server, run: `${run}/${SESSION}`, wanted })),
  ...Object.entries(DEMOS).map(([tool, run]) => ({ tool, server: "demo", run: demo(run) })),
  ...Object.entries(PAIRS).map(([tool, wanted]) => ({ tool, server: "compared", run: "tpu/2026_11_20_11_00_00", wanted, base: `tpu/${SESSION}` })),
];

/** Pages with all kinds of controls: on a push, Tab goes through these alone. */
const WALKED = ["overview_page", "trace_viewer@", "memory_viewer", "query"];

/** Presses Tab from the first button until the focus leaves the page, and checks that it can be seen everywhere. */
async function walk(tab) {
  await tab.frame().evaluate(() => document.querySelector("button.capture").focus());
  const seen = { page: new Set(), left: false };
  for (let i = 0; i < 400 && !seen.left; i++) {
    await tab.page.keyboard.press("Tab");
    const place = await tab.frame().evaluate(() => {
      const focused = document.activeElement;
      if (!document.hasFocus() || focused === document.body) return { left: true };
      const path = [];
      for (let e = focused; e; e = e.parentElement) path.push([...(e.parentElement?.children ?? [])].indexOf(e));
      const style = getComputedStyle(focused);
      const marked = style.outlineStyle !== "none" || style.boxShadow !== "none" || style.backgroundImage !== "none";
      return { left: false, page: Boolean(focused.closest("main")), marked: Boolean(marked), path: path.join(), name: focused.className };
    });
    seen.left = place.left;
    if (place.page) seen.page.add(place.path);
    assert.ok(place.left || place.marked, `the focus cannot be seen on ${place.name}`);
  }
  assert.ok(seen.left, "Tab never leaves the page");
  assert.ok(seen.page.size >= 2, `Tab stops at ${seen.page.size} places of the page`);
}

// axe-core reads a page alike in every browser.
h.inChromium("accessibility", ({ browser }) => {
  for (const { tool, server, run, wanted, base } of pages.filter((page) => h.ALL || !page.base || page.tool === "compare")) {
    const walked = h.ALL || WALKED.includes(tool);
    const checks = `no serious finding${h.ALL ? ", light or dark, nor at 200 %" : ""}${walked ? "; reached and left by Tab alone" : ""}`;
    test(`${tool}${base ? " with a base" : ""}: ${checks}`, async () => {
      const tab = await open(browser(), at[server], run, tool, base);
      if (wanted) await h.shows(tab, wanted);
      await h.atRest(tab);
      if (walked) await walk(tab);
      const outline = await tab.frame().evaluate(() => {
        const regions = [...document.querySelectorAll("main, nav, aside, [role=region], [role=search], section[aria-label]:not([role])")];
        const names = regions.filter((one) => one.getClientRects().length > 0).map((one) => `${one.localName} ${one.getAttribute("aria-label") ?? ""}`);
        return { headings: document.querySelectorAll("h1").length, twice: names.filter((name, i) => names.indexOf(name) < i) };
      });
      assert.deepEqual(outline, { headings: 1, twice: [] });
      const theme = async (name) => {
        await tab.frame().evaluate((value) => (document.documentElement.dataset.theme = value), name);
        await h.atRest(tab);
      };
      await theme("light");
      assert.deepEqual(await findings(tab), []);
      if (h.ALL) {
        await theme("dark");
        assert.deepEqual(await findings(tab, ["color-contrast"]), [], "dark"); // only colours differ
        await theme("light");
        // 200 % of a window 1280 wide is a window of 640.
        await tab.page.setViewport({ width: 640, height: 360 });
        await h.atRest(tab);
        assert.deepEqual(await findings(tab), [], "at 200 %");
      }
      h.assertClean(tab);
      await tab.page.close();
    });
  }
});
