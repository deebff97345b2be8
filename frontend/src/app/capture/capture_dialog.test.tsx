import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CaptureApi, CaptureJob, CaptureWorker } from "../../api/capture";
import { ApiError } from "../../api/error";
import { CaptureDialog } from "./capture_dialog";
import { rememberAddress } from "./capture_form";
import { cleanup, fakeClient, flush, mount, text } from "../testing";

const worker = (patch: Partial<CaptureWorker> = {}): CaptureWorker => ({
  address: "localhost:9012",
  host: "localhost_9012",
  state: "recording",
  attempt: 1,
  seconds: 0.4,
  bytes: 0,
  events: null,
  file: null,
  stored_by_worker: false,
  error: null,
  warnings: [],
  ...patch,
});
const job = (patch: Partial<CaptureJob> = {}): CaptureJob => ({
  job: "j1",
  kind: "capture",
  state: "running",
  phase: "recording",
  run: null,
  session: "s1",
  created_ms: 0,
  seconds: 0.4,
  duration_ms: 1000,
  delay_ms: 0,
  attempts: 4,
  starts_in_ms: 0,
  recording_left_ms: 600,
  bytes: 0,
  message: "",
  warnings: [],
  workers: [worker()],
  ...patch,
});
const stored = worker({ state: "done", bytes: 2048, events: 12345, file: "plugins/profile/s1/localhost_9012.xplane.pb", seconds: 1.2 });

function open(patch: Partial<CaptureApi>, enabled: boolean | null = true) {
  const api: CaptureApi = {
    start: vi.fn(() => Promise.resolve(job())),
    status: vi.fn(() => Promise.resolve(job())),
    jobs: vi.fn(() => Promise.resolve([])),
    cancel: vi.fn(() => Promise.resolve(job({ state: "cancelled", phase: "ended" }))),
    probe: vi.fn(() => Promise.resolve([])),
    setContinuous: vi.fn(() => Promise.resolve([])),
    snapshot: vi.fn(() => Promise.resolve(job({ kind: "snapshot" }))),
    ...patch,
  };
  const onRun = vi.fn();
  mount(
    <CaptureDialog client={fakeClient({})} logdir="/logs" enabled={enabled} onClose={() => undefined} onRun={onRun} api={api} pollMs={1} />,
  );
  return { api, onRun };
}

function type(name: string, value: string): void {
  const input = document.querySelector<HTMLInputElement>(`input[name="${name}"]`);
  if (!input) throw new Error(`no field ${name}`);
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function press(label: string): void {
  const button = [...document.querySelectorAll("button")].find((b) => b.textContent === label);
  if (!button) throw new Error(`no button ${label}`);
  button.click();
}

beforeEach(() => window.localStorage.clear());
afterEach(() => cleanup());

describe("capture dialog", () => {
  it("opens with the address of last time selected, once", async () => {
    rememberAddress("localhost:9012");
    open({});
    await flush();
    const field = document.querySelector<HTMLInputElement>('input[name="service"]');
    field?.focus();
    expect([field?.value, field?.selectionStart, field?.selectionEnd]).toEqual(["localhost:9012", 0, 14]);
    field?.setSelectionRange(3, 3);
    field?.blur();
    field?.focus();
    expect(field?.selectionStart).toBe(3);
  });

  it("captures, shows progress, and opens the run", async () => {
    const answers = [job(), job({ state: "done", phase: "ended", run: "s1", workers: [stored], message: "Captured 1 worker into s1." })];
    const { api, onRun } = open({ status: vi.fn(() => Promise.resolve(answers.shift() ?? job())) });
    await flush();
    expect(document.querySelector<HTMLButtonElement>('button[type="submit"]')?.disabled).toBe(true);
    type("service", "localhost:9012");
    await flush();
    press("CAPTURE");
    await flush();
    expect(api.start).toHaveBeenCalledWith(
      expect.objectContaining({ service_addr: "localhost:9012", duration_ms: 1000, retries: 3, delay_ms: null }),
    );
    expect(onRun).toHaveBeenCalledExactlyOnceWith("s1");
    expect(text(".capture-workers")).toContain("12,345");
    expect(JSON.parse(window.localStorage.getItem("profile-capture-recent") ?? "")).toEqual(["localhost:9012"]);
  });

  it("shows errors while typing", async () => {
    open({});
    type("service", "localhost");
    type("duration", "0");
    await flush();
    expect(text("form")).toContain("the port is missing");
    expect(text("form")).toContain("from 1 to 3600000");
    expect(document.querySelector<HTMLButtonElement>('button[type="submit"]')?.disabled).toBe(true);
  });

  it("shows why each worker failed and what to do", async () => {
    const error = { code: "busy", message: "Another session is active.", todo: "Wait.", grpc_code: "INTERNAL", details: "x" };
    const { onRun } = open({
      start: () => Promise.resolve(job({ state: "failed", phase: "ended", message: "no", workers: [worker({ state: "failed", error })] })),
    });
    type("service", "localhost:9012");
    await flush();
    press("CAPTURE");
    await flush();
    expect(text(".capture-workers")).toContain("Another session is active. Wait.");
    expect(onRun).not.toHaveBeenCalled();
    press("Back");
    await flush();
    expect(document.querySelector<HTMLInputElement>('input[name="service"]')?.value).toBe("localhost:9012");
  });

  it("shows a partial result instead of opening it", async () => {
    const partial = job({
      state: "done",
      phase: "ended",
      run: "s1",
      warnings: ["1 of 2 workers gave no profile."],
      workers: [stored, worker({ address: "b:1", state: "failed" })],
    });
    const { onRun } = open({ start: () => Promise.resolve(partial) });
    type("service", "localhost:9012,b:1");
    await flush();
    press("CAPTURE");
    await flush();
    expect(onRun).not.toHaveBeenCalled();
    press("Open the run");
    expect(onRun).toHaveBeenCalledWith("s1");
  });

  it("shows a running capture and cancels it", async () => {
    const { api } = open({ jobs: () => Promise.resolve([job()]) });
    await flush();
    press("Cancel the capture");
    await flush();
    expect(api.cancel).toHaveBeenCalledWith("j1", false);
  });

  it("stops polling when it is closed", async () => {
    const { api } = open({ jobs: () => Promise.resolve([job()]) });
    await flush();
    cleanup();
    const asked = vi.mocked(api.status).mock.calls.length;
    expect(asked).toBeGreaterThan(1);
    await flush();
    expect(api.status).toHaveBeenCalledTimes(asked);
  });

  it("shows why the server rejected the request", async () => {
    open({ start: () => Promise.reject(new ApiError(403, "forbidden", "10.0.0.1:1 may not be dialled from here.")) });
    type("service", "10.0.0.1:1");
    await flush();
    press("CAPTURE");
    await flush();
    expect(text('[role="alert"].capture-error')).toBe("10.0.0.1:1 may not be dialled from here.");
  });

  it("probes", async () => {
    const steps = { name: true, allowed: true, port: false, grpc: null, profiler: null };
    const error = { code: "nothing_listens", message: "Nothing listens.", todo: "Check the port.", grpc_code: "", details: "" };
    open({ probe: () => Promise.resolve([{ address: "localhost:1", ok: false, steps, milliseconds: 1, error }]) });
    type("service", "localhost:1");
    await flush();
    press("Probe");
    await flush();
    expect(text(".capture-probe")).toContain("✓ address is allowed✗ port is open");
    expect(text(".capture-probe")).toContain("Check the port.");
  });

  it("sends the extra options", async () => {
    const { api } = open({});
    type("service", "localhost:1");
    press("Add an option");
    await flush();
    for (const [label, value] of [
      ["Name of option 1", "tpu_x"],
      ["Value of option 1", "1"],
    ] as const) {
      const input = document.querySelector<HTMLInputElement>(`[aria-label="${label}"]`);
      if (input) input.value = value;
      input?.dispatchEvent(new Event("input", { bubbles: true }));
      await flush();
    }
    press("CAPTURE");
    await flush();
    expect(api.start).toHaveBeenCalledWith(expect.objectContaining({ advanced: { tpu_x: "1" } }));
  });

  it("starts and stops continuous profiling", async () => {
    const error = { code: "not_started", message: "It is not running.", todo: "Start it.", grpc_code: "NOT_FOUND", details: "" };
    const answers = [[{ address: "localhost:1", ok: true, error: null }], [{ address: "localhost:1", ok: false, error }]];
    const { api } = open({ setContinuous: vi.fn(() => Promise.resolve(answers.shift() ?? [])) });
    await flush();
    expect([...document.querySelectorAll<HTMLButtonElement>(".capture-continuous button")].map((button) => button.disabled)).toEqual([
      true,
      true,
      true,
    ]);
    type("service", "localhost:1");
    type("duration", "not a number"); // does not apply
    await flush();
    press("Start recording");
    await flush();
    expect(api.setContinuous).toHaveBeenCalledWith("start", {
      service_addr: "localhost:1",
      is_tpu_name: false,
      worker_list: "",
      advanced: {},
    });
    expect(text(".capture-probe")).toBe("localhost:1 ✓ recording");
    press("Stop recording");
    await flush();
    expect(api.setContinuous).toHaveBeenLastCalledWith("stop", expect.anything());
    expect(text(".capture-probe")).toContain("It is not running. Start it.");
  });

  it("takes a snapshot and opens it", async () => {
    const done = job({ kind: "snapshot", state: "done", phase: "ended", run: "s2", workers: [stored] });
    const { api, onRun } = open({ status: () => Promise.resolve(done) });
    type("service", "localhost:1");
    await flush();
    press("Take a snapshot");
    await flush();
    expect(api.snapshot).toHaveBeenCalledOnce();
    expect(api.start).not.toHaveBeenCalled();
    expect(onRun).toHaveBeenCalledExactlyOnceWith("s2");
  });
});
