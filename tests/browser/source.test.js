// The page Source: from the overview to the slowest line in two clicks, its text, its ops, and back from an op.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import * as h from "./harness.js";

const RUN = `run=${encodeURIComponent(`jax_mlp/${readdirSync(path.join(h.DEMO, "jax_mlp", "plugins", "profile"))[0]}`)}`;
const work = h.temporaryDirectory();
after(() => work.remove());
mkdirSync(path.join(work.directory, "src"));
writeFileSync(
  path.join(work.directory, "src", "jax_mlp.py"),
  Array.from({ length: 60 }, (_, i) => `line_${i + 1} = ${i + 1}`).join("\n"),
);
// A server of its own: it is the only one that shows source files.
const at = {
  demo: await h.startTensorBoard(h.DEMO, {
    environment: { TPU_PROFILE_SOURCE_ROOT: path.join(work.directory, "src") },
  }),
};
after(() => at.demo.stop());

const texts = (tab, selector) =>
  tab
    .frame()
    .$$eval(selector, (elements) =>
      elements.map((element) => element.textContent),
    );

h.inEveryBrowser("source", ({ name, browser }) => {
  test("from the overview to the slowest line, and to that of the largest buffer, in two clicks", async () => {
    const tab = await h.openPage(browser(), at.demo, {
      query: `${RUN}&tool=overview_page`,
    });
    await h.until("the tools", () =>
      tab.frame().$('[data-tool="source_view"]'),
    );
    await h.click(tab, '[data-tool="source_view"]');
    await h.shows(
      tab,
      "of the op time on the CPU comes from jax_mlp.py:32 (loss)",
    );
    await h.shows(tab, "for jax_mlp.py:");
    await h.click(tab, ".src-line.line");
    await h.until(
      "the line's text",
      async () =>
        (await texts(tab, ".src-code.chosen code"))[0] === "line_32 = 32",
    );
    assert.deepEqual(await texts(tab, ".src-card h2"), ["jax_mlp.py:32"]);
    await h.screenshot(tab, `source-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("from a line to its ops in the op table, and back from an op to its line", async () => {
    const tab = await h.openPage(browser(), at.demo, {
      query: `${RUN}&tool=source_view&line=jax_mlp.py:32`,
    });
    await h.until("the ops", () => tab.frame().$(".src-list a"));
    const op = (await texts(tab, ".src-item"))[0].split(" ")[0];
    await h.click(tab, ".src-list li a:nth-child(2)");
    await h.until("the card of the op", async () =>
      (await texts(tab, ".opp-card h2"))[0]?.includes(op),
    );
    await h.click(tab, ".opp-source a");
    await h.until(
      "the line",
      async () => (await texts(tab, ".src-card h2"))[0] === "jax_mlp.py:32",
    );
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the timeline finds the events of a line", async () => {
    const tab = await h.openPage(browser(), at.demo, {
      query: `${RUN}&tool=source_view&line=jax_mlp.py:32`,
    });
    await h.until("the ops", () => tab.frame().$(".src-card .src-links a"));
    await h.click(tab, ".src-card .src-links a");
    const selected = () =>
      tab.frame().evaluate(() => window.__timeline?.selection.length);
    await h.until("a selected event", async () => (await selected()) === 1);
    assert.match(
      (await texts(tab, ".tv-hits"))[0],
      /^[\d,]+ of [1-9][\d,]*$/,
    );
    h.assertClean(tab);
    await tab.page.close();
  });
});
