// Notebooks in JupyterLab and marimo: servers on a directory, and cells that are run in a browser.
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { DEMO, freePort, pause, ROOT, temporaryDirectory, until } from "./harness.js";

const ENVS = process.env.PROFILE_TEST_ENVS ?? path.join(homedir(), ".cache/tpu-profile-tests");
/** The interpreter with JupyterLab and marimo, which scripts/setup_frameworks makes. */
export const NOTEBOOK = process.env.PROFILE_NOTEBOOK_PYTHON ?? path.join(ENVS, "notebook", "bin", "python");
export const skip = existsSync(NOTEBOOK) ? false : "no environment with JupyterLab: run scripts/setup_frameworks";

const TORCH = process.env.PROFILE_TORCH_PYTHON ?? path.join(ENVS, "torch", "bin", "python");
/** What says where an interpreter has its packages, and its version. */
const PACKAGES = "import site, sys; print(site.getsitepackages()[0], *sys.version_info[:2], sep='|')";

/** Directories of packages that the interpreter of notebooks lacks: those of an environment with PyTorch; null without. */
export function packagesOf(framework) {
  if (framework !== "pytorch") return [];
  if (skip || !existsSync(TORCH)) return null;
  const [own, others] = [NOTEBOOK, TORCH].map((python) => execFileSync(python, ["-c", PACKAGES], { encoding: "utf8" }).trim().split("|"));
  return String(own.slice(1)) === String(others.slice(1)) ? [others[0]] : null;
}

/**
 * Starts a server of notebooks in a directory of its own and waits until it answers at `ready`. `temporary` is the directory in
 * which its kernels make temporary ones.
 */
async function start(command, ready, directory, packages = []) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const cache = temporaryDirectory();
  const server = spawn(NOTEBOOK, command(port), {
    cwd: directory,
    env: {
      ...process.env,
      HOME: cache.directory, // JupyterLab writes settings below it
      XDG_CACHE_HOME: cache.directory,
      TMPDIR: cache.directory,
      PYTHONPATH: [ROOT, ...packages].join(":"),
      JAX_PLATFORMS: "cpu",
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (log += text));
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const stop = async () => {
    // With its kernels, which are processes of its group.
    if (server.exitCode === null) process.kill(-server.pid, "SIGTERM");
    const timer = setTimeout(() => process.kill(-server.pid, "SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
    cache.remove();
  };
  for (const deadline = Date.now() + 300_000; ; await pause(200)) {
    if (server.exitCode !== null) throw new Error(`the server of notebooks stopped at once:\n${log}`);
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`the server of notebooks does not answer:\n${log}`);
    }
    const answer = await fetch(`${origin}${ready}`).catch(() => null);
    if (answer?.ok) return { origin, stop, temporary: cache.directory, log: () => log };
  }
}

/** JupyterLab, and Notebook 7 at /tree. */
export function startJupyter(directory, packages) {
  const open = [
    "--IdentityProvider.token=",
    "--ServerApp.password=",
    "--ServerApp.allow_root=True",
    "--LabApp.news_url=",
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
  ];
  const command = (port) => ["-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", `--port=${port}`, ...open];
  return start(command, "/api", directory, packages);
}

/** marimo on a notebook of Jupyter, whose cells run when it is opened. */
export function startMarimo(directory, notebook, packages) {
  const file = path.join(directory, `${path.basename(notebook, ".ipynb")}.py`);
  execFileSync(NOTEBOOK, ["-m", "marimo", "convert", notebook, "-o", file], { cwd: directory, stdio: "ignore" });
  const quiet = ["--headless", "--no-token", "--host", "127.0.0.1"];
  return start((port) => ["-m", "marimo", "run", file, ...quiet, "--port", String(port)], "/", directory, packages);
}

/** Puts a demo into a directory; returns the file. */
export function putDemo(directory, name) {
  const file = path.join(directory, `${name}.ipynb`);
  copyFileSync(path.join(DEMO, `${name}.ipynb`), file);
  return file;
}

/** The logdir that a notebook has made as a temporary directory, with so many runs. */
export function recordedLogdir(server, runs) {
  const recorded = (name) => {
    const sessions = path.join(server.temporary, name, "plugins", "profile");
    return existsSync(sessions) && readdirSync(sessions).length === runs;
  };
  return path.join(server.temporary, readdirSync(server.temporary).find(recorded));
}

/** Writes a notebook of code cells. */
export function writeNotebook(file, cells) {
  const code = cells.map((source, i) => ({ cell_type: "code", id: `c${i}`, metadata: {}, execution_count: null, outputs: [], source }));
  const kernelspec = { name: "python3", display_name: "Python 3", language: "python" };
  writeFileSync(file, JSON.stringify({ cells: code, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 }));
}

/** The frames of all widgets on a page, when there are so many and all show a page. */
export function widgetFrames(page, count, timeout = 120_000) {
  return until(
    `${count} frames of widgets`,
    async () => {
      const elements = await page.$$(">>> iframe[data-profile-widget]");
      const frames = await Promise.all(elements.map((element) => element.contentFrame()));
      const ready = frames.map((frame) => frame?.evaluate(() => document.querySelector("main") !== null));
      return frames.length === count && (await Promise.all(ready)).every(Boolean) && frames;
    },
    timeout,
  );
}

const IDLE = () => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === "idle";

/** Opens a notebook in JupyterLab, or in Notebook 7 (`at`: "notebooks"). */
export async function openLab(browser, server, notebook, { width = 1280, height = 900, at = "lab/tree" } = {}) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  const idle = () => page.waitForFunction(IDLE, { timeout: 120_000 });
  const open = async () => {
    await page.goto(`${server.origin}/${at}/${notebook}?reset`, { waitUntil: "domcontentloaded" });
    await idle();
  };
  await open();
  const command = (id) => page.evaluate((name) => window.jupyterapp.commands.execute(name), id);
  return {
    page,
    reload: open,
    save: () => command("docmanager:save"),
    /** Restarts the kernel without asking. */
    async restart() {
      await page.evaluate(() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart());
      await idle();
    },
    /** Runs a code cell. */
    runCell: (index) =>
      page.evaluate(async (which) => {
        window.jupyterapp.shell.currentWidget.content.activeCellIndex = which;
        await window.jupyterapp.commands.execute("notebook:run-cell");
      }, index),
    /** Begins to run all cells. */
    runAll: () => page.evaluate(() => void window.jupyterapp.commands.execute("notebook:run-all-cells")),
    /** Runs code in the kernel beside the cells; returns what it prints. */
    python: (code) =>
      page.evaluate(async (source) => {
        const asked = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code: source });
        let printed = "";
        asked.onIOPub = ({ header, content }) => {
          if (header.msg_type === "stream" || header.msg_type === "error") printed += content.text ?? `${content.ename}: ${content.evalue}`;
        };
        await asked.done;
        return printed;
      }, code),
  };
}
