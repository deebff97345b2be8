// Starts, records and stops the TensorBoard processes and browsers of the tests.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const DEMO = path.join(ROOT, "demo");
/** Directory of the screenshots of failed tests. */
export const ARTIFACTS = process.env.BROWSER_ARTIFACTS ?? path.join(ROOT, "build", "browser-artifacts");

/** The browsers under test; a missing one is skipped on a developer's machine and a failure in CI. */
export const BROWSERS = [
  { name: "chromium", executable: process.env.CHROMIUM ?? "/usr/bin/chromium" },
  { name: "firefox", executable: process.env.FIREFOX ?? "/usr/bin/firefox-esr" },
].map((browser) => ({ ...browser, skip: existsSync(browser.executable) ? false : absent(browser.name) }));

function absent(name) {
  const message = `${name} is not installed; set ${name.toUpperCase()} to its path`;
  if (process.env.CI === "true") throw new Error(message);
  return message;
}

/** A new directory below the system's temporary one; `remove` deletes it. */
export function temporaryDirectory(prefix = "profile-test-") {
  const directory = mkdtempSync(path.join(tmpdir(), prefix));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** A free port. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/**
 * Something that a server waits for, so that a test can look at what is shown meanwhile. `environment` is for the start
 * of the server: in it, whoever opens a file whose path ends in `file` waits while the gate is shut.
 */
export function makeGate(file = "") {
  const { directory, remove } = temporaryDirectory();
  const gate = path.join(directory, "shut");
  const search = [path.join(ROOT, "tests/browser/gate"), process.env.PYTHONPATH].filter(Boolean).join(path.delimiter);
  return {
    environment: { PYTHONPATH: search, BROWSER_TEST_GATE: gate, BROWSER_TEST_GATED: file },
    shut: () => writeFileSync(gate, ""),
    open: () => rmSync(gate, { force: true }),
    remove,
  };
}

/**
 * Starts TensorBoard on `logdir` and waits until it answers.
 * @returns {Promise<{origin: string, url: string, stop: () => Promise<void>}>} `url` has the path prefix and ends in "/".
 */
export async function startTensorBoard(logdir, { pathPrefix = "", environment = {} } = {}) {
  const cache = temporaryDirectory();
  const port = await freePort();
  const command = ["-m", "tensorboard.main", "--logdir", logdir, "--host", "127.0.0.1", "--port", String(port)];
  if (pathPrefix) command.push("--path_prefix", pathPrefix);
  const python = existsSync(path.join(ROOT, ".venv/bin/python")) ? path.join(ROOT, ".venv/bin/python") : "python3";
  const server = spawn(python, command, {
    cwd: cache.directory,
    env: { ...process.env, XDG_CACHE_HOME: cache.directory, PYTHONUNBUFFERED: "1", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (log += text));
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const origin = `http://127.0.0.1:${port}`;
  const stop = async () => {
    server.kill("SIGTERM");
    const timer = setTimeout(() => server.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
    cache.remove();
  };
  for (const deadline = Date.now() + 60_000; ; await pause(200)) {
    if (server.exitCode !== null) throw new Error(`TensorBoard stopped at once:\n${log}`);
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`TensorBoard does not answer:\n${log}`);
    }
    const answer = await fetch(`${origin}${pathPrefix}/data/plugins_listing`).catch(() => null);
    if (answer?.ok) return { origin, url: `${origin}${pathPrefix}/`, stop, log: () => log };
  }
}

/** Writes the sessions of `tests/builders/profiles/<name>.py` below a directory. */
export function build(name, directory) {
  const own = path.join(ROOT, ".venv/bin/python");
  const options = { cwd: ROOT, env: { ...process.env, PYTHONPATH: path.join(ROOT, "tests") } };
  execFileSync(existsSync(own) ? own : "python3", ["-m", `builders.profiles.${name}`, directory], options);
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Calls `probe` until it returns something truthy, and returns that. */
export async function until(what, probe, timeout = 30_000) {
  let last;
  for (const deadline = Date.now() + timeout; Date.now() < deadline; await pause(50)) {
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

/** Starts a headless browser that makes no requests except to our servers. */
export function launch({ name, executable }, graphics = ["--disable-gpu"]) {
  if (name === "firefox") {
    return puppeteer.launch({
      browser: "firefox",
      executablePath: executable,
      extraPrefsFirefox: { "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false },
    });
  }
  const flags = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return puppeteer.launch({
    executablePath: executable,
    args: ["--no-sandbox", "--disable-quic", ...graphics, ...flags],
  });
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

/**
 * Opens the Profile tab. `query` is the parent window's query string, as in a shared link.
 * The returned `frame()` is the plugin's own frame; `found` holds what the recorder noted.
 */
export async function openProfile(browser, server, { query = "", width = 1280, height = 720 } = {}) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  const found = record(page, server.origin);
  await page.goto(`${server.url}${query ? `?${query}` : ""}#profile`, { waitUntil: "domcontentloaded" });
  const frame = () => page.frames().find((f) => new URL(f.url()).pathname.endsWith("/plugin/profile/index.html"));
  await until("the plugin's frame", frame, 30_000);
  return { page, frame, found };
}

/** The visible text of the plugin's page. */
export function text(frame) {
  return frame.evaluate(() => document.body.innerText);
}

/** Waits until the page shows `wanted` (a string or regular expression) and returns its whole text. */
export async function shows(tab, wanted, timeout = 30_000) {
  let last = "";
  const matches = (seen) => (wanted instanceof RegExp ? wanted.test(seen) : seen.includes(wanted));
  return until(`"${wanted}" on the page`, async () => matches((last = await text(tab.frame()))) && last, timeout).catch((error) => {
    throw new Error(`${error.message}\nThe page shows:\n${last.slice(0, 2000)}`);
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

/** Runs the same tests in every browser: `define({browser})`, where `browser()` is the running one. */
export function inEveryBrowser(suite, define) {
  for (const kind of BROWSERS) {
    describe(`${suite} in ${kind.name}`, { skip: kind.skip }, () => {
      let browser;
      before(async () => {
        browser = await launch(kind);
      });
      after(() => browser?.close());
      define({ name: kind.name, browser: () => browser });
    });
  }
}

/** Clicks the first element of the plugin's page that matches `selector`, once it exists. */
export function click(tab, selector) {
  return until(`a click on ${selector}`, async () => {
    const element = await tab.frame().$(selector);
    await element?.click(); // throws where the page was drawn anew in between: found again then
    return element;
  });
}

/** The query string of the window, which holds the state of the view. */
export function query(tab) {
  return new URL(tab.page.url()).searchParams;
}
