// Pages show the answer first: the words that they show before any click have a budget.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const at = await h.served({ demo: h.DEMO });
const session = (run) => `${run}/${readdirSync(path.join(h.DEMO, run, "plugins", "profile"))[0]}`;

/** Most words of a page, by run: 60% of what the pages had while they said everything at once. */
const BUDGETS = {
  overview_page: { train_slow_input: 240, jax_mlp: 252, tf_input: 265 },
  time_budget: { train_slow_input: 210, jax_mlp: 224, tf_input: 248 },
  framework_op_stats: { tf_input: 316 },
  memory_profile: { tf_input: 178 },
};

h.inEveryBrowser("words", ({ browser }) => {
  for (const [tool, runs] of Object.entries(BUDGETS))
    test(`${tool} keeps its budget`, async () => {
      for (const [run, most] of Object.entries(runs)) {
        const query = new URLSearchParams({ run: session(run), tool }).toString();
        const tab = await h.openPage(browser(), at.demo, { query, width: 1024, height: 700 + 64 });
        const shown = await h.atRest(tab);
        const words = shown.match(/\S+/g).length;
        assert.ok(words <= most, `${run}: ${words} words, at most ${most}\n${shown}`);
        assert.ok(words > 40, `${run}: only ${words} words\n${shown}`);
        await tab.page.close();
      }
    });
});
