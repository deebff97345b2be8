// Pages without data: no profiles at all, and files that are not valid profiles.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import * as h from "./harness.js";

/** A valid profile of the demo, to be corrupted. */
function soundProfile() {
  const sessions = path.join(h.DEMO, "jax_scan", "plugins", "profile");
  return readFileSync(
    path.join(sessions, readdirSync(sessions)[0], "demo-host.xplane.pb"),
  );
}

const sound = soundProfile();
const BROKEN = {
  corrupt: {
    bytes: Buffer.from(sound.map((byte, i) => byte ^ (i % 251) ^ 0xa5)),
    says: /The profile file is damaged/,
  },
  empty: { bytes: Buffer.alloc(0), says: /The profile file is empty/ },
  truncated: {
    bytes: sound.subarray(0, Math.floor(sound.length / 2)),
    says: /The profile file is truncated/,
  },
};

/** The valid profile with one program that does not decode: the opcode of an instruction has an invalid wire type. */
function withDamagedProgram() {
  const at = sound.indexOf(
    Buffer.concat([Buffer.from([0x12, 9]), Buffer.from("parameter")]),
  );
  assert.ok(at > 0, "the demo has no parameter");
  const out = Buffer.from(sound);
  out[at] = 0x17;
  return out;
}

/** A name that does not contain the expected text. */
const runOf = (kind) => `run${Object.keys(BROKEN).indexOf(kind)}`;

let logdir;
let nothing;
let server;
let bare;
let file;
let single;
before(async () => {
  logdir = h.temporaryDirectory();
  for (const [name, { bytes }] of Object.entries(BROKEN)) {
    const session = path.join(
      logdir.directory,
      runOf(name),
      "plugins",
      "profile",
      "2026_01_01_00_00_00",
    );
    mkdirSync(session, { recursive: true });
    writeFileSync(path.join(session, "some-host.xplane.pb"), bytes);
  }
  const session = path.join(
    logdir.directory,
    "program",
    "plugins",
    "profile",
    "2026_01_01_00_00_00",
  );
  mkdirSync(session, { recursive: true });
  writeFileSync(
    path.join(session, "some-host.xplane.pb"),
    withDamagedProgram(),
  );
  const pytorch = path.join(
    logdir.directory,
    "pytorch",
    "plugins",
    "profile",
    "2026_01_01_00_00_00",
  );
  mkdirSync(pytorch, { recursive: true });
  writeFileSync(
    path.join(pytorch, "some-host_17.1763.pt.trace.json"),
    '{"schemaVersion": 1, "traceEvents": [{"ph": "X"',
  );
  nothing = h.temporaryDirectory();
  file = path.join(
    logdir.directory,
    "program/plugins/profile/2026_01_01_00_00_00/some-host.xplane.pb",
  );
  [server, bare, single] = await Promise.all([
    h.startTensorBoard(logdir.directory),
    h.startTensorBoard(nothing.directory),
    h.startTensorBoard(file),
  ]);
});
after(async () => {
  await server?.stop();
  await bare?.stop();
  await single?.stop();
  logdir?.remove();
  nothing?.remove();
});

h.inEveryBrowser("nothing to show", ({ name, browser }) => {
  test("a trace of PyTorch that was cut off before its first event is named with a reason", async () => {
    const tab = await h.openPage(browser(), server, {
      query: `run=${encodeURIComponent("pytorch/2026_01_01_00_00_00")}&tool=profile_contents`,
    });
    await h.shows(tab, "truncated PyTorch trace at byte");
    h.assertClean(tab, { expected: /^422 / });
    await tab.page.close();
  });

  for (const [kind, { says }] of Object.entries(BROKEN)) {
    test(`the ${kind} file is named with a reason`, async () => {
      const query = `run=${runOf(kind)}/2026_01_01_00_00_00&tool=profile_contents`;
      const tab = await h.openPage(browser(), server, { query });
      const seen = await h.shows(tab, says);
      assert.match(seen, /some-host/);
      assert.doesNotMatch(
        seen,
        new RegExp(logdir.directory),
        "a path of the server is shown",
      );
      await h.screenshot(tab, `${kind}-${name}`);
      h.assertClean(tab, { expected: /^422 / });
      await tab.page.close();
    });
  }

  test("a damaged program is said above what can be shown", async () => {
    const query = "run=program/2026_01_01_00_00_00&tool=profile_contents";
    const tab = await h.openPage(browser(), server, { query });
    const seen = await h.shows(
      tab,
      /HLO module .* does not decode: invalid wire type in HloInstructionProto/,
    );
    assert.match(seen, /The rest of the file is shown/);
    await h.shows(tab, "/host:CPU");
    await h.screenshot(tab, `damaged-program-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("what is missing is said on every page, until it is dismissed", async () => {
    const query = "run=program/2026_01_01_00_00_00&tool=profile_contents";
    const banner = (tab) =>
      tab.frame().evaluate(() => document.querySelector(".problems")?.innerText ?? "");
    const tab = await h.openPage(browser(), server, { query });
    await h.until("the banner", async () => /does not decode/.test(await banner(tab)));
    await tab.frame().click('[data-tool="trace_viewer@"]');
    await h.until("the other page", () =>
      tab.frame().evaluate(() => document.querySelector(".tv-toolbar, canvas") !== null),
    );
    assert.match(await banner(tab), /Copy the file again/);
    await tab.frame().click(".problems button");
    assert.equal(await banner(tab), "");
    await tab.page.reload();
    await h.shows(tab, "Trace viewer");
    assert.equal(await banner(tab), "", "it is dismissed for the session of the tab");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a logdir that is a file says what to do", async () => {
    const page = await h.openProfile(browser(), single);
    const seen = await h.shows(page, "The log directory is a file");
    assert.ok(seen.includes(`tpu-profile serve ${file}`), seen);
    await h.screenshot(page, `logdir-is-file-${name}`);
    h.assertClean(page);
    await page.page.close();
  });

  test("a logdir without profiles says what was looked for and where", async () => {
    const page = await h.openProfile(browser(), bare);
    const seen = await h.shows(page, "No profiles yet");
    assert.match(seen, /xplane\.pb/);
    assert.ok(seen.includes(nothing.directory), "the logdir is not named");
    await h.screenshot(page, `no-profiles-${name}`);
    h.assertClean(page);
    await page.page.close();
  });
});
