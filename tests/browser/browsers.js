// The browsers under test.
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";

/** Only these browsers, as run.js asks for; all by default. */
const ONLY = process.env.BROWSER_TEST_ONLY?.split(",");

/** Whether all tests run, as at night; else those of a push. */
export const ALL = process.env.TEST_ALL === "1";

/** The browsers under test; a missing one is skipped on a developer's machine and a failure in CI. */
export const BROWSERS = [
  { name: "chromium", executable: process.env.CHROMIUM ?? "/usr/bin/chromium" },
  { name: "firefox", executable: process.env.FIREFOX ?? "/usr/bin/firefox-esr" },
]
  .filter(({ name }) => ONLY === undefined || ONLY.includes(name))
  .map((browser) => ({ ...browser, skip: existsSync(browser.executable) ? false : absent(browser.name) }));

function absent(name) {
  const message = `${name} is not installed; set ${name.toUpperCase()} to its path`;
  if (process.env.CI === "true") throw new Error(message);
  return message;
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
  // The suggestions of the address bar are a page of their own in each window, which takes longer to start than the test's page.
  flags.push("--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup");
  if (!ALL) flags.push("--force-prefers-reduced-motion"); // drawing what moves takes as long as the rest of a page
  return puppeteer.launch({
    executablePath: executable,
    args: ["--no-sandbox", "--disable-quic", ...graphics, ...flags],
  });
}

/** Connects to a running browser by the endpoint of its process. */
export function connect({ name }, endpoint) {
  return puppeteer.connect({ browserWSEndpoint: endpoint, ...(name === "firefox" ? { protocol: "webDriverBiDi" } : {}) });
}
