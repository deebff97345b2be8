// Directories, ports, built runs and TensorBoard processes for the browser tests.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const DEMO = path.join(ROOT, "demo");

const CHECKOUTS_PYTHON = path.join(ROOT, ".venv/bin/python");
/** The interpreter that has the package. */
export const PYTHON = existsSync(CHECKOUTS_PYTHON) ? CHECKOUTS_PYTHON : "python3";

/** A new directory below the system's temporary one; `remove` deletes it. */
export function temporaryDirectory(prefix = "profile-test-") {
  const directory = mkdtempSync(path.join(tmpdir(), prefix));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** A free port; none of those that the system gives to connections, as it may give one away before a server listens. */
export function freePort(tries = 50) {
  return new Promise((resolve, reject) => {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    server.on("error", (error) => (tries > 1 ? resolve(freePort(tries - 1)) : reject(error)));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(port)));
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
export async function startTensorBoard(logdir, { pathPrefix = "", environment = {}, tries = 3 } = {}) {
  const cache = temporaryDirectory();
  const port = await freePort();
  const command = ["-m", "tensorboard.main", "--logdir", logdir, "--host", "127.0.0.1", "--port", String(port)];
  if (pathPrefix) command.push("--path_prefix", pathPrefix);
  const server = spawn(PYTHON, command, {
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
  for (const deadline = Date.now() + 120_000; ; await pause(200)) {
    if (server.exitCode !== null) {
      cache.remove();
      // Another process took the port after it was found to be free.
      if (tries > 1 && /already in use/.test(log)) return startTensorBoard(logdir, { pathPrefix, environment, tries: tries - 1 });
      throw new Error(`TensorBoard stopped at once:\n${log}`);
    }
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`TensorBoard does not answer:\n${log}`);
    }
    const answer = await fetch(`${origin}${pathPrefix}/data/plugins_listing`).catch(() => null);
    if (answer?.ok) return { origin, url: `${origin}${pathPrefix}/`, pid: server.pid, stop, log: () => log };
  }
}

/** Writes the sessions of `tests/builders/<name>.py` below a directory. */
export function build(name, directory, words = [], environment = {}) {
  const options = { cwd: ROOT, env: { ...process.env, PYTHONPATH: path.join(ROOT, "tests"), ...environment } };
  execFileSync(PYTHON, ["-m", `builders.profiles.${name}`, directory, ...words], options);
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
