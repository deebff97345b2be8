// The shell around every page: the tab in TensorBoard, sessions, tools, hosts, the address bar.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import * as h from "./harness.js";

const SESSIONS = readdirSync(h.DEMO)
  .map((run) => ({ run, sessions: path.join(h.DEMO, run, "plugins", "profile") }))
  .filter(({ sessions }) => existsSync(sessions)) // there are also files beside the runs
  .flatMap(({ run, sessions }) => readdirSync(sessions).map((session) => `${run}/${session}`));
const NEWEST = [...SESSIONS].sort((a, b) => b.split("/")[1].localeCompare(a.split("/")[1]))[0];

/** A run of two hosts, made of one profile of the demo. */
const TWO = "two/2026_01_01_00_00_00";

const at = await h.served({ demo: h.DEMO, prefixed: { logdir: h.DEMO, pathPrefix: "/some/prefix" } });
let pair;
let paired;
before(async () => {
  pair = h.temporaryDirectory();
  const [run, session] = SESSIONS.find((name) => name.startsWith("jax_scan")).split("/");
  for (const host of ["host-a", "host-b"]) {
    const from = path.join(h.DEMO, run, "plugins", "profile", session, "demo-host.xplane.pb");
    const to = path.join(pair.directory, "two", "plugins", "profile", "2026_01_01_00_00_00", `${host}.xplane.pb`);
    mkdirSync(path.dirname(to), { recursive: true });
    copyFileSync(from, to);
  }
  paired = await h.startTensorBoard(pair.directory);
});
after(async () => {
  await paired?.stop();
  pair?.remove();
});

h.inEveryBrowser("shell", ({ name, browser }) => {
  test("the tab appears and shows the newest session", async () => {
    const tab = await h.openProfile(browser(), at.demo);
    await h.shows(tab, NEWEST);
    const tabs = await tab.page.evaluate(() => document.body.innerText);
    assert.match(tabs, /PROFILE/i);
    await h.screenshot(tab, `shell-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("choosing a session and a tool changes the page and the address", async () => {
    const tab = await h.openProfile(browser(), at.demo);
    await h.click(tab, "button.picker");
    await h.until("the list of sessions", async () => (await tab.frame().$$('[role="option"]')).length === SESSIONS.length);
    const wanted = SESSIONS.find((name) => name.startsWith("jax_scan"));
    const options = await tab.frame().$$('[role="option"]');
    for (const option of options) {
      if ((await option.evaluate((element) => element.textContent)).includes(wanted)) {
        await option.click();
        break;
      }
    }
    await h.until("the session in the address", () => h.query(tab).get("run") === wanted);
    await h.click(tab, '[data-tool="profile_contents"]');
    await h.until("the tool in the address", () => h.query(tab).get("tool") === "profile_contents");
    await h.shows(tab, "demo-host");
    await tab.page.goBack();
    // The address may change in more than one step; what counts is where it stays.
    await h.until("the step back", () => h.query(tab).get("tool") !== "profile_contents" && h.query(tab).get("run") === wanted);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("links open the same view in another tab; the tab is titled by tool and run", async () => {
    const tab = await h.openProfile(browser(), at.demo, { query: `run=${NEWEST}&tool=overview_page&reading=xprof` });
    await h.until("the title", async () => (await tab.page.title()) === `Overview Page · ${NEWEST} · Profile`);
    const href = await tab.frame().$eval('[data-tool="profile_contents"]', (link) => link.href);
    const query = new URL(href).searchParams;
    assert.deepEqual([query.get("run"), query.get("tool"), query.get("reading")], [NEWEST, "profile_contents", "xprof"]);
    const other = await browser().newPage();
    await other.goto(href, { waitUntil: "domcontentloaded" });
    await h.until("the other tab", async () => (await other.title()) === `Profile contents · ${NEWEST} · Profile`);
    await other.close();
    h.assertClean(tab);
    await tab.page.close();
  });

  test("menus and the rail's boxes stay in the window at 200 %", async () => {
    const tab = await h.openPage(browser(), at.demo, { query: `run=${NEWEST}&tool=hlo_stats`, width: 720, height: 514 });
    await h.click(tab, '[aria-label="Expand the sidebar"]');
    for (const button of [".table-tools .popover button", ".rail .popover button"]) {
      await h.until(`a press on ${button}`, () => tab.frame().$eval(button, (e) => (e.scrollIntoView(), e.focus(), e.click(), true)));
      const box = await h.until("the menu", async () => (await tab.frame().$(".popover-box"))?.boundingBox());
      assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= 720 && box.y + box.height <= 450, `${button}: ${JSON.stringify(box)}`);
      await tab.page.keyboard.press("Escape");
      await h.until("no menu", async () => (await tab.frame().$(".popover-box")) === null);
    }
    await tab.page.close();
  });

  test("the capture dialog opens from a link with its options, and keeps its place", async () => {
    const tab = await h.openPage(browser(), at.demo, { query: `run=${NEWEST}&tool=profile_contents&capture=python_tracer_level%3D1` });
    const top = () => tab.frame().$eval("dialog", (e) => e.getBoundingClientRect().top);
    await h.until("the fields", () => tab.frame().$('dialog [name="pythonLevel"]'));
    assert.equal(await tab.frame().$eval('[name="pythonLevel"]', (e) => e.value), "1");
    const before = await top();
    await tab.frame().$$eval("dialog details", (all) => all.forEach((one) => (one.open = true)));
    await tab.frame().$eval('[name="kind"][value="tpu"]', (e) => e.click());
    await h.until("the field of TPUs", () => tab.frame().$('[name="workers"]'));
    assert.equal(await top(), before);
    await h.click(tab, 'dialog [aria-label="Close"]');
    await h.until("no options in the address", () => h.query(tab).get("capture") === null);
    await tab.page.close();
  });

  test("choosing a host changes the page and the address", async () => {
    const tab = await h.openProfile(browser(), paired, { query: `run=${TWO}&tool=profile_contents` });
    await h.shows(tab, "All hosts");
    await h.click(tab, '[aria-label="Host"] button.picker');
    const choices = await h.until("the list of hosts", async () => {
      const found = await tab.frame().$$('[role="radiogroup"] label');
      return found.length === 3 && found;
    });
    await choices[2].click();
    await h.until("the host in the address", () => h.query(tab).get("host") === "host-b");
    await h.until("rows of that host only", () =>
      tab.frame().evaluate(() => {
        const cells = [...document.querySelectorAll(".table-tr .first")];
        return cells.length > 0 && cells.every((cell) => cell.textContent === "host-b");
      }),
    );
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a link opens the session and the tool it names", async () => {
    const wanted = SESSIONS.find((name) => name.startsWith("tf_input"));
    const tab = await h.openProfile(browser(), at.demo, { query: `run=${encodeURIComponent(wanted)}&tool=profile_contents` });
    await h.until("the tool to be current", () => tab.frame().$('[data-tool="profile_contents"][aria-current="page"]'));
    await h.shows(tab, wanted);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a link to a session that is gone says so", async () => {
    const tab = await h.openProfile(browser(), at.demo, { query: "run=gone/2001_01_01_00_00_00" });
    await h.shows(tab, "There is no session named gone/2001_01_01_00_00_00");
    await tab.page.close();
  });

  test("it works below a path prefix", async () => {
    const tab = await h.openProfile(browser(), at.prefixed, { query: "tool=profile_contents" });
    await h.shows(tab, NEWEST.split("/")[1]);
    await h.until("the tool to be current", () => tab.frame().$('[data-tool="profile_contents"][aria-current="page"]'));
    h.assertClean(tab);
    assert.ok(tab.found.requests.every((url) => !url.startsWith(`${at.prefixed.origin}/data/`)), "a request left the prefix");
    await tab.page.close();
  });
});
