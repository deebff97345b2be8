import { describe, expect, it } from "vitest";
import type { Trace, Track } from "../../../timeline/data/trace";
import { initialArrangement, laneOfTrack, layOut } from "../../../timeline/layout/layout";
import type { Arrangement } from "../../../timeline/layout/layout";
import { matchTracks } from "./counterpart";
import { scrollBeside } from "./same_track";
import type { Laid } from "./same_track";

/** Sections with their tracks, of each the number of rows. */
function laid(sections: Record<string, Record<string, number>>, change: Partial<Arrangement> = {}): Laid {
  const tracks: Track[] = [];
  const made = Object.entries(sections).map(([name, own], section) => {
    const trackBegin = tracks.length;
    Object.entries(own).forEach(([track, rows], tid) =>
      tracks.push({ pid: section, tid, name: track, rows, events: 1, kind: "events", section, unit: "", main: false, range: null }),
    );
    return { pid: section, name, host: "", trackBegin, trackEnd: tracks.length };
  });
  const trace = { sections: made, tracks } as unknown as Trace;
  return { trace, layout: layOut(trace, { ...initialArrangement(trace), ...change }) };
}

/** Content pixels at which a track begins. */
function topOf({ trace, layout }: Laid, section: string, track: string): number {
  const index = trace.tracks.findIndex((one) => one.name === track && trace.sections[one.section]?.name === section);
  return layout.top[laneOfTrack(layout, index)] ?? -1;
}

const beside = (from: Laid, to: Laid, scroll: number): number => scrollBeside(from, to, matchTracks(from.trace, to.trace), scroll);

describe("the other timeline", () => {
  const run = laid({ "/host:CPU": { main: 12, worker: 2 }, "/device:TPU:0": { Steps: 1, "XLA Ops": 3 } });
  const base = laid({ "/host:CPU": { main: 3, worker: 4, extra: 5 }, "/device:TPU:0": { "XLA Ops": 6 } });

  it("shows the same track at its top whatever the heights", () => {
    expect(beside(run, base, 0)).toBe(0);
    for (const [section, track] of [
      ["/host:CPU", "main"],
      ["/host:CPU", "worker"],
      ["/device:TPU:0", "XLA Ops"],
    ] as const) {
      expect(beside(run, base, topOf(run, section, track))).toBe(topOf(base, section, track));
      expect(beside(base, run, topOf(base, section, track))).toBe(topOf(run, section, track));
    }
  });

  it("shows the same share of a track", () => {
    // main: 12 rows of 18 px and a gap of 3 in the run, 3 rows in the base
    expect(beside(run, base, topOf(run, "/host:CPU", "main") + 219 / 2)).toBe(topOf(base, "/host:CPU", "main") + 57 / 2);
  });

  it("passes what only one of them has without a jump", () => {
    const at = topOf(base, "/host:CPU", "extra");
    const section = topOf(run, "/host:CPU", "worker") + 39;
    expect([beside(base, run, at), beside(base, run, at + 92)]).toEqual([section, section]);
    const [steps, ops] = [topOf(run, "/device:TPU:0", "Steps"), topOf(base, "/device:TPU:0", "XLA Ops")];
    expect([beside(run, base, steps), beside(run, base, steps + 20)]).toEqual([ops, ops]);
    const scrolled = Array.from({ length: run.layout.contentHeight }, (_, scroll) => beside(run, base, scroll));
    const jumps = scrolled.map((scroll, i) => scroll - (scrolled[i - 1] ?? 0)).filter((by) => by < 0 || by > 3);
    expect(jumps).toHaveLength(1); // over the track that only the base has
  });

  it("follows by section where the tracks are folded away", () => {
    const folded = laid(
      { "/host:CPU": { main: 3, worker: 4, extra: 5 }, "/device:TPU:0": { "XLA Ops": 6 } },
      { collapsedSections: new Set([0]) },
    );
    expect(beside(run, folded, topOf(run, "/device:TPU:0", "XLA Ops"))).toBe(topOf(folded, "/device:TPU:0", "XLA Ops"));
    expect(beside(run, folded, topOf(run, "/host:CPU", "worker"))).toBe(22);
  });

  it("scrolls by as many pixels if nothing corresponds, and leaves out pinned tracks", () => {
    const other = laid({ "/device:GPU:0": { stream: 3 } });
    expect(beside(run, other, 77)).toBe(77);
    const pinned = laid({ "/host:CPU": { main: 12, worker: 2 }, "/device:TPU:0": { Steps: 1, "XLA Ops": 3 } }, { pinnedTracks: ["0.0"] });
    expect(beside(pinned, base, topOf(pinned, "/device:TPU:0", "XLA Ops"))).toBe(topOf(base, "/device:TPU:0", "XLA Ops"));
  });

  it("does not scroll back where sections stand in another order", () => {
    const turned = laid({ "/device:TPU:0": { "XLA Ops": 6 }, "/host:CPU": { main: 3, worker: 4 } });
    expect(beside(run, turned, topOf(run, "/device:TPU:0", "Steps"))).toBeGreaterThanOrEqual(0);
    expect(beside(run, turned, topOf(run, "/host:CPU", "worker"))).toBe(topOf(turned, "/host:CPU", "worker"));
  });
});
