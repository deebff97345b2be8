// Pages show the answer first: the words that they show before any click have a budget.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const SHARED = path.join(h.ROOT, "..", "shared", "traces", "logdir");
const samples = h.ALL && existsSync(SHARED);
const at = await h.served({ demo: h.DEMO, ...(samples ? { samples: SHARED } : {}) });

/** Most words of a page, by run: 60% of what the pages had while they said everything at once. */
const BUDGETS = {
  demo: {
    overview_page: { train_slow_input: 240, train_prefetched: 185, jax_mlp: 252, jax_scan: 257, tf_input: 265 },
    time_budget: { train_slow_input: 210, train_prefetched: 198, jax_mlp: 224, jax_scan: 228, tf_input: 248 },
    framework_op_stats: { tf_input: 316 },
    memory_profile: { tf_input: 178 },
  },
  samples: {
    overview_page: {
      gpu_mi300_conv: 344, gpu_mi300_conv_legacy: 433, gpu_mi300_gemm: 422, tpu_v6e_training_2hosts: 478, tpu_v6e4_inference: 391,
      "tf_keras/train": 206, tf_input_bound: 272, tf_data_slow: 275, jax_mlp: 188, jax_scan_conv: 189,
    },
    time_budget: {
      gpu_mi300_conv: 226, gpu_mi300_conv_legacy: 218, gpu_mi300_gemm: 234, tpu_v6e_training_2hosts: 234, tpu_v6e4_inference: 199,
      "tf_keras/train": 235, tf_input_bound: 204, tf_data_slow: 228, jax_mlp: 195, jax_scan_conv: 195,
    },
    framework_op_stats: {
      gpu_mi300_conv: 183, gpu_mi300_conv_legacy: 164, gpu_mi300_gemm: 183, tpu_v6e_training_2hosts: 304, tpu_v6e4_inference: 294,
      "tf_keras/train": 337, tf_input_bound: 228, tf_data_slow: 289,
    },
    memory_profile: {
      gpu_mi300_conv: 242, gpu_mi300_conv_legacy: 249, gpu_mi300_gemm: 223, tpu_v6e_training_2hosts: 379, tpu_v6e4_inference: 291,
      "tf_keras/train": 252,
    },
  },
};
const ROOTS = { demo: h.DEMO, samples: SHARED };

// Words are the same in every browser.
h.inChromium("words", ({ browser }) => {
  for (const [root, budgets] of Object.entries(BUDGETS).filter(([root]) => root in at))
    for (const [tool, runs] of Object.entries(budgets))
      test(`${tool} of ${root} keeps its budget`, async () => {
        for (const [run, most] of Object.entries(runs)) {
          const session = `${run}/${readdirSync(path.join(ROOTS[root], run, "plugins", "profile"))[0]}`;
          const query = new URLSearchParams({ run: session, tool }).toString();
          const tab = await h.openPage(browser(), at[root], { query, width: 1024, height: 700 + 64 });
          const shown = await h.atRest(tab);
          const words = shown.match(/\S+/g).length;
          assert.ok(words <= most, `${run}: ${words} words, at most ${most}\n${shown}`);
          assert.ok(words > 40, `${run}: only ${words} words\n${shown}`);
          await tab.page.close();
        }
      });
});
