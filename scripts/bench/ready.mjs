// Prepares the checkout for benchmarks in a browser; imported before anything of tests/browser.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// Imports of a first answer are those of an installed package, which is compiled.
delete process.env.PYTHONDONTWRITEBYTECODE;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
execFileSync("bash", ["-c", "CORE_PROFILE=release; . scripts/setup && ready && npm_packages tests/browser"], { cwd: ROOT, stdio: ["ignore", 2, 2] });
