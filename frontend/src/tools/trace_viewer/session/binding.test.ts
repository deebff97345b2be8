// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TimeScale } from "../../../base/time_scale";
import { decodeTrace } from "../../../timeline/data/trace";
import { showTrace } from "../../../timeline/state/commands";
import { jumpTo } from "../../../timeline/state/navigation";
import { INITIAL } from "../../../timeline/state/state";
import type { TimelineCommand, TimelineState } from "../../../timeline/state/state";
import { encodeTrace } from "../../../timeline/testing/synthetic";
import type { Timeline } from "../../../timeline/timeline";
import { Binding, slackText } from "./binding";
import type { Slack, WirePath } from "./source";

const boxes = Array.from({ length: 100 }, (_, i) => ({ begin: i * 1000, duration: 800, name: "op", event: i }));
const trace = decodeTrace(
  encodeTrace({ sections: [{ pid: 3, name: "TPU", tracks: [{ tid: 1, name: "Ops", boxes }] }], full: [0, 100_000] }),
);

/** Ops of 800 ps and gaps of 200 ps in a window, whole. */
function wireOf({ begin, end }: { begin: number; end: number }, device = "TPU 0", count = 1): WirePath {
  const first = Math.max(Math.floor(begin / 1000), 0);
  const last = Math.min(Math.ceil(end / 1000), 100);
  const ops = Array.from({ length: last - first }, (_, i) => first + i);
  const both = <T>(op: (i: number) => T, gap: (i: number) => T): T[] => ops.flatMap((i) => [op(i), gap(i)]);
  return {
    devices: ["TPU 0", "TPU 1"],
    device,
    parts: [
      { id: "compute", name: "Ops", ps: ops.length * 800 },
      { id: "idle_gap", name: "Gaps between ops", ps: ops.length * 200 },
    ],
    steps: [{ name: "1", begin_ps: 0, duration_ps: 100_000 }],
    names: ["op"],
    part: both(
      () => 0,
      () => 1,
    ),
    begin_ps: both(
      (i) => i * 1000,
      (i) => i * 1000 + 800,
    ),
    duration_ps: both(
      () => 800,
      () => 200,
    ),
    count: both(
      () => count,
      () => 1,
    ),
    name: both(
      () => 0,
      () => -1,
    ),
    pid: both(
      () => 3,
      () => -1,
    ),
    tid: both(
      () => 1,
      () => -1,
    ),
    event: both(
      (i) => i,
      () => -1,
    ),
    row: both(
      () => 0,
      () => -1,
    ),
    event_begin_ps: both(
      (i) => i * 1000,
      () => -1,
    ),
    event_duration_ps: both(
      () => 800,
      () => -1,
    ),
  };
}

/** What the class needs of a timeline. */
class FakeTimeline {
  state: TimelineState = INITIAL;
  readonly elements = { status: document.createElement("div") };
  apply(...commands: readonly TimelineCommand[]): void {
    for (const command of commands) this.state = command(this.state);
    this.state = { ...this.state, scale: this.state.target };
  }
  get window() {
    return { begin: this.state.scale.begin, end: this.state.scale.end };
  }
}

const asked: { begin: number; end: number; device: string }[] = [];
let count = 1;
let slack: () => Promise<Slack>;
const answers = {
  path: (window: { begin: number; end: number }, device: string) => {
    asked.push({ ...window, device });
    return new Promise<WirePath>((resolve) => setTimeout(() => resolve(wireOf(window, device || "TPU 0", count)), 1));
  },
  slack: () => slack(),
};

function open(begin: number, end: number) {
  const timeline = new FakeTimeline();
  timeline.apply(showTrace(trace), jumpTo(new TimeScale(begin, end, 1000)));
  return { timeline, binding: new Binding(answers, timeline as unknown as Timeline, () => undefined) };
}
const selected = (timeline: FakeTimeline) => timeline.state.selection.map(({ event }) => event);

beforeEach(() => {
  asked.length = 0;
  count = 1;
  slack = () => Promise.resolve({ bound: "exactly", ps: 0, why: "It is on the path.", path_ps: 800 });
});

describe("the binding path", () => {
  it("is read around the window when it is switched on, and again where the window leaves that", async () => {
    const { timeline, binding } = open(40_000, 50_000);
    await binding.update();
    expect(asked).toEqual([]);
    binding.toggle();
    await vi.waitFor(() => expect(timeline.state.path?.length).toBe(60));
    timeline.apply(jumpTo(new TimeScale(45_000, 55_000, 1000)));
    await binding.update();
    timeline.apply(jumpTo(new TimeScale(60_000, 70_000, 1000)));
    await binding.update();
    expect(asked).toEqual([
      { begin: 30_000, end: 60_000, device: "" },
      { begin: 50_000, end: 80_000, device: "" },
    ]);
    binding.toggle();
    expect([timeline.state.path, binding.link]).toEqual([null, null]);
  });

  it("is read again for a narrow window if pieces were put together", async () => {
    count = 7;
    const { timeline, binding } = open(0, 100_000);
    binding.toggle();
    await vi.waitFor(() => expect(timeline.state.path).not.toBeNull());
    timeline.apply(jumpTo(new TimeScale(40_000, 45_000, 1000)));
    await binding.update();
    expect(asked.map(({ begin, end }) => [begin, end])).toEqual([
      [0, 100_000],
      [35_000, 50_000],
    ]);
  });

  it("is gone along from the longest piece in the window, beyond what was read", async () => {
    const { timeline, binding } = open(49_900, 51_100);
    await binding.next(1);
    expect([selected(timeline), timeline.state.piece]).toEqual([[50], 4]);
    expect(binding.sentence).toBe("Binding path of TPU 0: Ops, 0.8 ns, op");
    await binding.next(1);
    expect(selected(timeline)).toEqual([]);
    expect(timeline.elements.status.textContent).toBe("Binding path of TPU 0: Gaps between ops, 0.2 ns, no event");
    for (let i = 0; i < 5; i++) await binding.next(1);
    expect(selected(timeline)).toEqual([53]);
    expect(asked.length).toBe(2);
    for (let i = 0; i < 10; i++) await binding.next(-1);
    expect(selected(timeline)).toEqual([48]);
    binding.leave();
    expect(timeline.state.piece).toBe(-1);
  });

  it("is that of a chosen device, which links hold", async () => {
    const { timeline, binding } = open(0, 100_000);
    binding.follow("TPU 1");
    await binding.update();
    expect([timeline.state.path?.device, binding.link]).toEqual(["TPU 1", "TPU 1"]);
    binding.choose("TPU 0");
    await vi.waitFor(() => expect(timeline.state.path?.device).toBe("TPU 0"));
    const plain = open(0, 1000).binding;
    plain.follow("1");
    expect([plain.on, plain.link]).toEqual([true, "1"]);
  });

  it("keeps what went wrong", async () => {
    const { timeline, binding } = open(0, 100_000);
    const failing = { ...answers, path: () => Promise.reject(new Error("no")) };
    const other = new Binding(failing, timeline as unknown as Timeline, () => undefined);
    other.toggle();
    await vi.waitFor(() => expect(other.error).toEqual(new Error("no")));
    expect(binding.error).toBeNull();
  });
});

describe("slack", () => {
  const event = { pid: 3, tid: 1, event: 5, name: "op", begin: 5000, duration: 800, count: 1, row: 0 };

  it("is asked for while the path is shown", async () => {
    const { binding } = open(0, 100_000);
    binding.select(event);
    expect(binding.slack).toBeNull();
    binding.toggle();
    await vi.waitFor(() => expect(binding.slack?.path_ps).toBe(800));
    binding.select(null);
    expect(binding.slack).toBeNull();
    slack = () => Promise.reject(new Error("gone"));
    binding.select(event);
    await vi.waitFor(() => expect(binding.slackError).toEqual(new Error("gone")));
  });

  it("says which bound it is", () => {
    const told = { ps: 2_000_000, why: "Why.", path_ps: 0 };
    expect(slackText({ ...told, bound: "at most" })).toBe("at most 2 us. Why.");
    expect(slackText({ ...told, bound: "at least" })).toBe("at least 2 us. Why.");
    expect(slackText({ ...told, bound: "exactly", ps: 0 })).toBe("0. Why.");
    expect(slackText({ ...told, bound: "unknown", ps: 0 })).toBe("Cannot tell. Why.");
  });
});
