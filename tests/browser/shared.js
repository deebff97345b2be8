// Servers and browsers that test files share: run.js keeps them for the whole run, a file that runs alone for itself.
import http from "node:http";
import { BROWSERS, launch } from "./browsers.js";
import { build, startTensorBoard, temporaryDirectory } from "./servers.js";

/** Address of the keeper in run.js, and which of its files at a time this is. */
const { BROWSER_TEST_KEEPER: KEEPER, BROWSER_TEST_LANE: LANE = "" } = process.env;

/** Starts each server and browser when it is first asked for. */
export class Keeper {
  #servers = new Map();
  #browsers = new Map();
  #directories = [];

  /** TensorBoard on what tests only read: a directory, or runs that `tests/builders/<builder>.py` writes. */
  server({ logdir, builder, pathPrefix = "" }) {
    const key = JSON.stringify([logdir, builder, pathPrefix]);
    if (!this.#servers.has(key)) this.#servers.set(key, startTensorBoard(logdir ?? this.#built(builder), { pathPrefix }));
    return this.#servers.get(key);
  }

  #built(builder) {
    const work = temporaryDirectory();
    this.#directories.push(work);
    build(builder, work.directory);
    return work.directory;
  }

  /** The endpoint of a browser that a lane has for itself; one that crashed is started again. */
  async browser(name, lane) {
    const key = `${name} ${lane}`;
    const running = await this.#browsers.get(key);
    if (!running || running.process().exitCode !== null) this.#browsers.set(key, this.#launch(name));
    return (await this.#browsers.get(key)).wsEndpoint();
  }

  async #launch(name) {
    const browser = await launch(BROWSERS.find((kind) => kind.name === name));
    await browser.disconnect(); // Firefox has one connection at a time: a file's
    return browser;
  }

  async stop() {
    await Promise.allSettled([...this.#servers.values()].map(async (server) => (await server).stop()));
    for (const browser of await Promise.allSettled(this.#browsers.values())) browser.value?.process().kill();
    for (const { remove } of this.#directories) remove();
  }
}

/** Answers for a keeper over HTTP; returns the address. */
export async function listen(keeper) {
  const ask = {
    "/server": async (options) => {
      const { origin, url } = await keeper.server(options);
      return { origin, url };
    },
    "/browser": ({ name, lane }) => keeper.browser(name, lane),
  };
  const front = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://keeper");
    try {
      response.end(JSON.stringify(await ask[pathname](JSON.parse(searchParams.get("of")))));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
  front.unref();
  return `http://127.0.0.1:${front.address().port}`;
}

/** The keeper of run.js, or one of this process. */
export function keeper() {
  if (KEEPER === undefined) return new Keeper();
  const ask = async (what, of) => {
    const answer = await fetch(`${KEEPER}/${what}?of=${encodeURIComponent(JSON.stringify(of))}`);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };
  return { server: (options) => ask("server", options), browser: (name) => ask("browser", { name, lane: LANE }), stop: () => {} };
}
