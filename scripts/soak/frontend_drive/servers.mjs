// The servers of a run: XProf's own, ours on the same profiles, and in front of each a proxy with XProf's pages.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, openSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { freePort, pause, startTensorBoard, temporaryDirectory } from "../../../tests/browser/harness.js";

const ROUTES = "/data/plugin/profile";
/** Files of XProf's frontend, which only its own server has; all else is data. */
const PAGES = new RegExp(
  `^(${ROUTES})?/?((index|trace_viewer_index)\\.html|(index|bundle|runtime|zone|trace_viewer_index|trace_viewer_v2)\\.js` +
    "|trace_viewer_v2\\.wasm|styles\\.css|\\w+\\.woff2|local)?$",
);
const BUNDLE = /(^|\/)bundle\.js$/;
/**
 * The page of pod_viewer takes the run from the path of its route, where 2.24.2 no longer puts it, and asks for no run;
 * here it takes it from the query, as all other pages do.
 */
const POD_VIEWER = /(\w+)\.params(?=\.pipe\(\w+\(this\.destroyed\)\)\.subscribe\((\w+)=>\{this\.update\(\2\)\}\))/g;

/** The bundle of XProf's pages with the page of pod_viewer mended; throws unless it has exactly one place to mend. */
export function mended(bundle) {
  const places = bundle.match(POD_VIEWER)?.length ?? 0;
  if (places !== 1) throw new Error(`${places} places in XProf's bundle read the run as the page of pod_viewer does`);
  return bundle.replace(POD_VIEWER, "$1.queryParams");
}

/**
 * XProf's server on a copy of `logdir` (it writes into it), started anew when it dies.
 * @returns {Promise<{origin: string, stop: () => Promise<void>, deaths: () => number}>}
 */
export async function startReference(python, logdir, log) {
  const place = temporaryDirectory("xprof-frontend-");
  cpSync(logdir, path.join(place.directory, "logdir"), { recursive: true, dereference: true });
  const port = await freePort();
  mkdirSync(path.dirname(log), { recursive: true });
  const output = openSync(log, "w");
  let [child, stopped, deaths] = [null, false, 0];
  const start = () => {
    const script = path.join(import.meta.dirname, "reference_server.py");
    const command = [script, path.join(place.directory, "logdir"), String(port)];
    child = spawn(python, command, { stdio: ["ignore", output, output], cwd: place.directory });
    child.on("exit", () => {
      if (stopped) return;
      deaths += 1;
      setTimeout(() => stopped || start(), 200);
    });
  };
  start();
  const origin = `http://127.0.0.1:${port}`;
  for (const deadline = Date.now() + 120_000; ; await pause(300)) {
    const answer = await fetch(`${origin}${ROUTES}/runs`).catch(() => null);
    if (answer?.ok) break;
    if (deaths > 2 || Date.now() > deadline) throw new Error(`XProf's server does not start; see ${log}`);
  }
  const stop = async () => {
    stopped = true;
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    place.remove();
  };
  return { origin, stop, deaths: () => deaths };
}

/** Our plugin in TensorBoard, on the files themselves. */
export function startOurs(logdir) {
  return startTensorBoard(logdir, { environment: { PYTHONDONTWRITEBYTECODE: "1" } });
}

/** Sends a request on to `where` and the answer back; resolves when that is done or the browser is gone. */
function forward(request, response, where) {
  if (response.destroyed) return Promise.resolve();
  const onward = http.request(where, (answer) => {
    const { connection: _, ...back } = answer.headers;
    response.writeHead(answer.statusCode, back);
    answer.pipe(response);
  });
  onward.on("error", (error) => response.headersSent ? response.destroy() : response.writeHead(502).end(String(error)));
  request.pipe(onward);
  return new Promise((resolve) => response.on("close", resolve));
}

/**
 * A server that hands out XProf's pages from `pages`, has the list of tools from `lists`, so that both pages have the
 * same, and asks `data` for everything else; `fresh`: without what `data` has kept. XProf keeps the sum over all hosts
 * and then answers with it when one host is asked for.
 */
export async function startFront({ pages, lists, data, fresh }) {
  const port = await freePort();
  // One at a time: XProf answers 404 for what it is just making anew for another request.
  let free = Promise.resolve();
  const script = mended(await (await fetch(`${pages.origin}/bundle.js`)).text());
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://127.0.0.1");
    if (BUNDLE.test(pathname)) {
      response.writeHead(200, { "content-type": "text/javascript; charset=utf-8" }).end(script);
      return;
    }
    const listing = pathname === `${ROUTES}/run_tools`;
    const from = PAGES.test(pathname) ? pages : listing ? lists : data;
    const behind = new URL(from.origin);
    const { connection: _, ...headers } = request.headers;
    headers.host = behind.host;
    const anew = fresh && /\/data(_csv)?$/.test(pathname);
    const where = { host: behind.hostname, port: behind.port, method: request.method, path: request.url + (anew ? "&use_saved_result=false" : listing ? "&own=true" : ""), headers };
    const send = () => forward(request, response, where);
    if (anew) free = free.then(send);
    else send();
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { origin: `http://127.0.0.1:${port}`, stop };
}

/** The answer of a server to a route of the plugin: parsed, or its text. */
export async function ask(server, route, parameters, kind = "json") {
  const answer = await fetch(`${server.origin}${ROUTES}${route}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) return kind === "json" ? [] : "";
  return kind === "json" ? answer.json() : answer.text();
}
