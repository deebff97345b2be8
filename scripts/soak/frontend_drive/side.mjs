// One side of the comparison: a browser page that shows XProf's frontend, and what it asked, logged and shows.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { pause } from "../../../tests/browser/harness.js";

const read = (name) => readFileSync(path.join(import.meta.dirname, name), "utf8");
const LOADER = "https://www.gstatic.com/charts/loader.js";
const LOADER_SOURCE = read("charts_data.js") + read("charts.js");
const COLLECT = read("collect.js");
/** How long a page may load or compute before it is compared as it is, in ms. */
const PATIENCE = 60_000;
const QUIET = 200;
/** How often in turn a picture has to be the same to be the one that stays. */
const STEADY = 4;
/** The browser asks for an icon once, whenever it likes, and does not always say when it has the answer. */
const ICON = /\/favicon\.ico$/;

/** Whether something on the page says that it is still loading; evaluated in the page. */
function busy() {
  const bars = Array.from(document.querySelectorAll("mat-progress-bar, mat-spinner, mat-progress-spinner"));
  const size = document.body ? document.body.getElementsByTagName("*").length + document.body.textContent.length : 0;
  const shown = bars.filter((bar) => bar.checkVisibility({ visibilityProperty: true }) && bar.getBoundingClientRect().width > 0);
  const moving = document.getAnimations().some(({ playState, effect }) => playState === "running" && Number.isFinite(effect?.getComputedTiming().endTime));
  return { loading: moving || shown.length > 0 || window.__idle?.size > 0 || document.readyState !== "complete", size };
}

export class Side {
  /**
   * A page of `browser` on `origin`; answers the request for Google Charts itself and refuses other hosts. `drawing`: what
   * the page draws in a canvas is collected too.
   */
  static async open(browser, origin, drawing = false) {
    const side = new Side();
    Object.assign(side, { origin, drawing, waiting: new Set(), kinds: new Map(), asked: [], errors: [], foreign: [] });
    side.page = await browser.newPage();
    await side.page.setViewport({ width: 1440, height: 900 });
    await side.page.evaluateOnNewDocument(COLLECT);
    await side.listen();
    return side;
  }

  async listen() {
    const { page } = this;
    page.on("request", (request) => ICON.test(request.url()) || this.waiting.add(request));
    page.on("requestfailed", (request) => this.done(request));
    page.on("requestfinished", (request) => this.done(request));
    page.on("console", (message) => message.type() === "error" && this.errors.push(message.text()));
    page.on("pageerror", (error) => this.errors.push(String(error?.message ?? error)));
    page.on("dialog", (dialog) => {
      this.errors.push(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    const session = await page.createCDPSession();
    session.on("Fetch.requestPaused", ({ requestId, request }) => {
      if (request.url === LOADER) {
        const body = Buffer.from(LOADER_SOURCE).toString("base64");
        const responseHeaders = [{ name: "content-type", value: "text/javascript" }];
        session.send("Fetch.fulfillRequest", { requestId, responseCode: 200, responseHeaders, body }).catch(() => {});
      } else {
        this.foreign.push(request.url);
        session.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" }).catch(() => {});
      }
    });
    await session.send("Fetch.enable", { patterns: [{ urlPattern: "https://*" }, { urlPattern: "http://[!1]*" }] });
  }

  done(request) {
    this.waiting.delete(request);
    const url = new URL(request.url());
    if (url.origin !== this.origin || ICON.test(request.url())) return;
    const response = request.response();
    const address = url.pathname + url.search;
    // The browser keeps the content type of a stored answer, whatever a 304 says.
    const type = (response?.headers()["content-type"] ?? "").split(";")[0];
    const kind = response?.status() === 304 ? (this.kinds.get(address) ?? type) : type;
    if (kind) this.kinds.set(address, kind);
    const status = response ? response.status() : (request.failure()?.errorText ?? "no response");
    this.asked.push({ url: address, answer: `${status} ${kind}` });
  }

  /** Forgets what was noted so far. */
  forget() {
    this.asked = [];
    this.errors = [];
    this.foreign = [];
  }

  /** Opens `/?query` anew, with `kept` in the browser's storage, and waits until it is quiet. */
  async show(query, kept = {}) {
    await this.page.goto(`${this.origin}/data/plugin/profile/config`);
    await this.page.evaluate((entries) => {
      localStorage.clear();
      for (const [name, value] of Object.entries(entries)) localStorage.setItem(name, value);
    }, kept);
    this.waiting.clear();
    this.forget();
    await this.page.goto(`${this.origin}/?${new URLSearchParams(query)}`, { waitUntil: "domcontentloaded", timeout: PATIENCE });
    await this.quiet();
  }

  /** Waits until nothing is loading and the page has not changed for a while; false where that took too long. */
  async quiet() {
    let [last, since] = ["", Date.now()];
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(60)) {
      const states = await Promise.all(this.page.frames().map((frame) => frame.evaluate(busy).catch(() => ({ loading: true }))));
      const now = JSON.stringify([states, this.waiting.size]);
      const settled = this.waiting.size === 0 && !states.some((state) => state.loading);
      if (now !== last || !settled) [last, since] = [now, Date.now()];
      else if (Date.now() - since >= QUIET) return true;
    }
    this.errors.push(`the page does not become quiet: ${[...this.waiting].map((request) => request.url())} ${last}`);
    return false;
  }

  /** A digest of what the page's canvas shows, once it no longer changes; nothing where there is no canvas. */
  async picture() {
    const canvas = await this.page.$("canvas");
    if (!canvas) return [];
    let [last, times] = ["", 0];
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(400)) {
      const now = createHash("sha256").update(await canvas.screenshot()).digest("hex");
      [last, times] = [now, now === last ? times + 1 : 1];
      if (times === STEADY) return [`canvas ${now}`];
    }
    return ["a canvas that keeps changing"];
  }

  /** What every frame shows, and what was asked and logged since the last call. */
  async collect() {
    const pictures = this.drawing ? await this.picture() : [];
    // What was clicked on is looked up when the next picture is drawn.
    if (pictures.length) await this.quiet();
    const shown = [];
    for (const frame of this.page.frames()) {
      const found = await frame.evaluate(() => window.__collect()).catch((error) => ({ texts: [`not collected: ${error.message}`] }));
      shown.push(found);
    }
    shown[0].pictures = pictures;
    const { asked, errors, foreign } = this;
    this.forget();
    return { shown, asked, errors, foreign };
  }
}
