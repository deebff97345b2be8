// Names in the profile are HTML with a script: every page shows them as text and runs nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const MARK = "<img src=x onerror=window.hostile=1>";
// Every page once, with the run that has most data for it.
const PAGES = {
  pod: ["overview_page", "input_pipeline_analyzer", "pod_viewer", "framework_op_stats"],
  serving: ["inference_profile"],
  steps: ["overview_page"],
  tpu: ["op_profile", "hlo_stats", "roofline_model", "graph_viewer", "memory_viewer"],
  gpu: ["kernel_stats"],
  jax_mlp: ["trace_viewer@", "profile_contents", "op_profile"],
  tf_input: ["memory_profile"],
};

/** Pages that draw by themselves: on a push these alone. Tables and charts, of which others are made, are on some of them. */
const OFTEN = ["overview_page", "op_profile", "hlo_stats", "graph_viewer", "memory_viewer", "trace_viewer@", "memory_profile", "pod_viewer"];

const at = await h.served({ hostile: "hostile" });

h.inEveryBrowser("hostile names", ({ name, browser }) => {
  for (const [kind, all] of Object.entries(PAGES)) {
    const tools = all.filter((tool) => h.ALL || OFTEN.includes(tool));
    if (tools.length === 0) continue;
    test(`${kind}: every page shows the names and runs nothing`, async () => {
      const run = `${MARK} ${kind}/1`;
      for (const tool of tools) {
        const query = `run=${encodeURIComponent(run)}&tool=${encodeURIComponent(tool)}`;
        const tab = await h.openPage(browser(), at.hostile, { query });
        await h.shows(tab, MARK);
        await h.atRest(tab);
        const seen = await tab.frame().evaluate(() => ({
          ran: window.hostile ?? window.parent.hostile ?? null,
          images: document.querySelectorAll("img[onerror], img[src='x']").length,
        }));
        assert.deepEqual(seen, { ran: null, images: 0 }, tool);
        if (name === "chromium") await h.screenshot(tab, `hostile-${kind}-${tool}`);
        h.assertClean(tab);
        await tab.page.close();
      }
    });
  }
});
