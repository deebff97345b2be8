// The plugin's pages in a browser: opening them, waiting for what they show, recording what goes wrong.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { after, before, describe } from "node:test";
import { pathToFileURL } from "node:url";
import { BROWSERS, connect } from "./browsers.js";
import { pause, ROOT } from "./servers.js";
import { keeper } from "./shared.js";

export { ALL, BROWSERS, launch } from "./browsers.js";
export * from "./servers.js";

/** Directory of the screenshots of failed tests. */
export const ARTIFACTS = process.env.BROWSER_ARTIFACTS ?? path.join(ROOT, "build", "browser-artifacts");

/** The longest wait, in ms: also on a machine with far more to do than cores. */
const PATIENCE = 120_000;

/** Calls `probe` until it returns something truthy, and returns that. */
export async function until(what, probe, timeout = PATIENCE) {
  let last;
  let wait = 50; // longer and longer: reading a page takes what it needs to become complete
  for (const deadline = Date.now() + timeout; Date.now() < deadline; await pause(wait), wait = Math.min(1.3 * wait, 250)) {
    try {
      const value = await probe();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`waited ${timeout} ms for ${what}; last: ${last}`);
}

/** Records violations on a page: console errors, uncaught errors, requests to other origins, failed requests. */
function record(page, origin) {
  const found = { errors: [], foreign: [], failed: [], requests: [] };
  page.on("console", (message) => message.type() === "error" && found.errors.push(`${message.text()} ${message.location()?.url ?? ""}`));
  page.on("pageerror", (error) => found.errors.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    found.requests.push(url);
    if (/^(https?|wss?):/.test(url) && new URL(url).origin !== origin) found.foreign.push(url);
  });
  page.on("response", (response) => response.status() >= 400 && found.failed.push(`${response.status()} ${response.url()}`));
  return found;
}

/** The height of TensorBoard's own header. */
const HEADER = 64;

async function newTab(browser, server, { width, height, prepare = () => {} }) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await prepare(page);
  return { page, found: record(page, server.origin) };
}

/**
 * Opens the Profile tab of TensorBoard. `query` is the parent window's query string, as in a shared link.
 * The returned `frame()` is the plugin's own frame; `found` holds what the recorder noted.
 */
export async function openProfile(browser, server, { query = "", width = 1280, height = 720 } = {}) {
  const { page, found } = await newTab(browser, server, { width, height });
  await page.goto(`${server.url}${query ? `?${query}` : ""}#profile`, { waitUntil: "domcontentloaded" });
  const frame = () => page.frames().find((f) => new URL(f.url()).pathname.endsWith("/plugin/profile/index.html"));
  await until("the plugin's frame", frame);
  return { page, frame, found };
}

/**
 * Opens the plugin's page without TensorBoard around it, as large as it is there. That takes a third of the time: for
 * tests of what is on a page. shell, places, demo, capture and first_view have TensorBoard around it. `prepare` gets the
 * tab before it is opened.
 */
export async function openPage(browser, server, { query = "", width = 1280, height = 720, prepare } = {}) {
  const { page, found } = await newTab(browser, server, { width, height: height - HEADER, prepare });
  await page.goto(`${server.url}data/plugin/profile/index.html${query ? `?${query}` : ""}`, { waitUntil: "domcontentloaded" });
  return { page, frame: () => page.mainFrame(), found };
}

/** Opens a saved report; `fragment` is the view. */
export async function openFile(browser, file, fragment = "") {
  const { page, found } = await newTab(browser, { origin: "" }, { width: 1280, height: 656 });
  await page.goto(`${pathToFileURL(file)}${fragment && `#${fragment}`}`, { waitUntil: "domcontentloaded" });
  return { page, frame: () => page.mainFrame(), found };
}

/** The visible text of the plugin's page. */
export function text(frame) {
  return frame.evaluate(() => document.body.innerText);
}

/** Waits until the page shows `wanted` (a string or regular expression) and returns its whole text. */
export async function shows(tab, wanted, timeout = PATIENCE) {
  let last = "";
  const matches = (seen) => (wanted instanceof RegExp ? wanted.test(seen) : seen.includes(wanted));
  return until(`"${wanted}" on the page`, async () => matches((last = await text(tab.frame()))) && last, timeout).catch((error) => {
    throw new Error(`${error.message}\nThe page shows:\n${last.slice(0, 2000)}`);
  });
}

/** Waits until the page has drawn twice: what moves differs then from what it was before. */
export function twoFrames(tab) {
  return tab.frame().evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn()))));
}

/** Runs in the page: its text; null while something loads or moves. */
function restingText() {
  const busy = document.querySelector("main [aria-busy=true], .loading") !== null;
  const moves = document.getAnimations().some(({ playState }) => playState === "running");
  return busy || moves ? null : (document.querySelector("main")?.innerText ?? null);
}

/** Waits until nothing loads or moves and the page stays as it is; returns the text of its main part. */
export function atRest(tab) {
  let last = null;
  return until("a page at rest", async () => {
    const before = last;
    last = await tab.frame().evaluate(restingText);
    return last !== null && last.length > 20 && last === before && last;
  });
}

/** Saves what the window shows as ARTIFACTS/<name>.png. */
export async function screenshot(tab, name) {
  mkdirSync(ARTIFACTS, { recursive: true });
  await tab.page.screenshot({ path: path.join(ARTIFACTS, `${name}.png`) });
}

/** TensorBoard asks for its fonts at the root even when it serves below a path prefix. */
const TENSORBOARDS_OWN = /\/font-roboto\//;

/** Fails if anything was recorded; `expected` are failed responses that the test provoked. */
export function assertClean(tab, { expected = /^$/ } = {}) {
  const { errors, foreign, failed } = tab.found;
  const unexpected = failed.filter((line) => !expected.test(line) && !TENSORBOARDS_OWN.test(line));
  // A browser logs an error of its own for every answer with an error status.
  const own = errors.filter(
    (line) => !TENSORBOARDS_OWN.test(line) && !(unexpected.length === 0 && /Failed to load resource/.test(line)),
  );
  assert.deepEqual({ errors: own, foreign, failed: unexpected }, { errors: [], foreign: [], failed: [] });
}

let shared;
/** What this file shares with others; given back when its tests have ended. */
function lender() {
  if (shared) return shared;
  shared = keeper();
  after(() => shared.stop());
  return shared;
}

/**
 * The TensorBoards of a file that changes nothing in their logdirs, by name: of a directory, of the runs of a builder, or
 * `{logdir, pathPrefix}`.
 */
export async function served(wanted) {
  const lend = lender();
  const started = Object.entries(wanted).map(async ([name, what]) => {
    const options = typeof what === "string" ? { [path.isAbsolute(what) ? "logdir" : "builder"]: what } : what;
    return [name, await lend.server(options)];
  });
  return Object.fromEntries(await Promise.all(started));
}

function inBrowser(kind, suite, define) {
  const lend = lender();
  describe(`${suite} in ${kind.name}`, { skip: kind.skip }, () => {
    let browser;
    let context;
    before(async () => {
      browser = await connect(kind, await lend.browser(kind.name));
      context = await browser.createBrowserContext(); // with storage and cache of its own
      const { newPage } = context;
      context.newPage = async () => {
        const page = await newPage.call(context);
        page.setDefaultTimeout(PATIENCE);
        return page;
      };
    });
    after(async () => {
      await context?.close();
      await browser?.disconnect();
    });
    define({ name: kind.name, browser: () => context });
  });
}

/** Runs the same tests in every browser: `define({browser})`, where `browser()` opens pages. */
export function inEveryBrowser(suite, define) {
  for (const kind of BROWSERS) inBrowser(kind, suite, define);
}

/** Runs tests whose result does not depend on the browser. */
export function inChromium(suite, define) {
  for (const kind of BROWSERS) if (kind.name === "chromium") inBrowser(kind, suite, define);
}

/** Clicks the first element of the plugin's page that matches `selector`, once it exists and stays where it is. */
export function click(tab, selector) {
  let last = null;
  return until(`a click on ${selector}`, async () => {
    const element = await tab.frame().$(selector);
    const before = last;
    last = element && JSON.stringify(await element.boundingBox());
    if (last === null || last !== before) return false; // the click would miss what still moves
    await element.click(); // throws where the page was drawn anew in between: found again then
    return true;
  });
}

/** The query string of the window, which holds the state of the view. */
export function query(tab) {
  return new URL(tab.page.url()).searchParams;
}
