// The pages behind reverse proxies, and in frames of other pages.
import assert from "node:assert/strict";
import { cpSync, readdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import * as h from "./harness.js";
import { startPage, startProxy } from "./proxy.js";

const SESSION = `jax_mlp/${readdirSync(path.join(h.DEMO, "jax_mlp", "plugins", "profile"))[0]}`;
const link = (tool) => `run=${encodeURIComponent(SESSION)}&tool=${tool}`;

/** Environments, and the behaviour of their proxies; on a push one that takes the prefix off, and one that does not. */
const PROXIES = {
  "a proxy that takes the prefix off": { prefix: "/user/me/proxy/6006", strip: true },
  ...(h.ALL ? { "a proxy that takes the prefix off and keeps the Host": { prefix: "/user/me/proxy/6006", strip: true, keepHost: true } } : {}),
  "a proxy before --path_prefix": { prefix: "/some/prefix", keepHost: true },
};

let logdir;
let plain;
let prefixed;
before(async () => {
  logdir = h.temporaryDirectory(); // a copy: captures are asked for
  cpSync(path.join(h.DEMO, "jax_mlp"), path.join(logdir.directory, "jax_mlp"), { recursive: true });
  plain = await h.startTensorBoard(logdir.directory);
  prefixed = await h.startTensorBoard(logdir.directory, { pathPrefix: "/some/prefix" });
});
after(async () => {
  logdir?.remove();
  await plain?.stop();
  await prefixed?.stop();
});

/** Starts a capture from the page's own origin, of an unused port; returns status and response. */
function capture(tab) {
  return tab.frame().evaluate(async () => {
    const headers = { "content-type": "application/json", "x-profile-request": "1" };
    const answer = await fetch("capture_profile", { method: "POST", headers, body: JSON.stringify({ addresses: "localhost:1", duration_ms: 1 }) });
    return { status: answer.status, text: await answer.text() };
  });
}

h.inEveryBrowser("places", ({ name, browser }) => {
  for (const [place, how] of Object.entries(PROXIES)) {
    test(`${place}: tables, charts, the timeline, the address and capturing`, async (t) => {
      const proxy = await startProxy(how.strip ? plain : prefixed, how);
      t.after(proxy.stop);
      const tab = await h.openProfile(browser(), proxy, { query: link("profile_contents") });
      await h.shows(tab, "demo-host");
      await h.click(tab, '[data-tool="overview_page"]');
      await h.until("the tool in the address", () => h.query(tab).get("tool") === "overview_page");
      await h.until("a drawn chart", () => tab.frame().$(".chart-canvas[data-drawn]"));
      await h.click(tab, '[data-tool="trace_viewer@"]');
      await h.until("the timeline", () => tab.frame().$("canvas"));
      const { status, text } = await capture(tab);
      assert.equal(status, 202, text);
      h.assertClean(tab);
      const outside = proxy.seen.filter((url) => !url.startsWith(`${how.prefix}/`) && !/font-roboto|favicon/.test(url));
      assert.deepEqual(outside, [], "requests left the prefix");
      await tab.page.close();
    });
  }

  test("in a frame of another site, as in a notebook: TensorBoard with our tab", async (t) => {
    const outer = await startPage(`<!doctype html><title>notebook</title>
      <iframe width="1200" height="700" src="${plain.url}?${link("profile_contents")}#profile"></iframe>`);
    t.after(outer.stop);
    const page = await browser().newPage();
    await page.goto(outer.url);
    const frame = () => page.frames().find((f) => new URL(f.url()).pathname.endsWith("/plugin/profile/index.html"));
    await h.until("the plugin's frame", frame);
    const tab = { page, frame };
    await h.shows(tab, "demo-host");
    await h.click(tab, '[data-tool="overview_page"]');
    await h.until("a drawn chart", () => frame().$(".chart-canvas[data-drawn]"));
    await h.screenshot(tab, `framed-${name}`);
    await page.close();
  });

  test("our page alone in a frame of another site", async (t) => {
    const outer = await startPage(`<!doctype html><title>dashboard</title>
      <iframe width="1200" height="700" src="${plain.url}data/plugin/profile/index.html?${link("overview_page")}"></iframe>`);
    t.after(outer.stop);
    const page = await browser().newPage();
    await page.goto(outer.url);
    const frame = () => page.frames().find((f) => new URL(f.url()).pathname.endsWith("/plugin/profile/index.html"));
    const tab = { page, frame };
    await h.until("the page", frame);
    await h.until("a drawn chart", () => frame().$(".chart-canvas[data-drawn]"));
    await h.click(tab, '[data-tool="profile_contents"]');
    await h.shows(tab, "demo-host");
    await h.until("the tool in the frame's own address", () => new URL(frame().url()).searchParams.get("tool") === "profile_contents");
    await page.close();
  });
});
