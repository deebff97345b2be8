// Derives the ruler's steps from the outermost events of the first track named Steps, if the server sends none.
import type { Steps, Trace } from "./trace";

const TRACK_NAME = "Steps";

/** The trace with steps added, if it has any. Merged blocks are omitted, because they are several steps. */
export function withSteps(trace: Trace): Trace {
  if (trace.steps !== null) return trace;
  const track = trace.tracks.findIndex((t) => t.name === TRACK_NAME && t.events > 0);
  return track < 0 ? trace : { ...trace, steps: stepsOf(trace, track) };
}

function stepsOf(trace: Trace, track: number): Steps {
  const boxes: number[] = [];
  for (let box = trace.trackStart[track]!; box < trace.trackStart[track + 1]!; box++) {
    if (trace.count[box] === 1) boxes.push(box);
  }
  boxes.sort((a, b) => trace.begin[a]! - trace.begin[b]!);
  // overlapping (pipelined) steps are cut where the next one begins
  const end = (i: number): number => {
    const boxEnd = trace.begin[boxes[i]!]! + trace.duration[boxes[i]!]!;
    const next = boxes[i + 1];
    return next === undefined ? boxEnd : Math.min(boxEnd, trace.begin[next]!);
  };
  return {
    begin: Float64Array.from(boxes, (box) => trace.begin[box]!),
    duration: Float64Array.from(boxes, (box, i) => end(i) - trace.begin[box]!),
    name: Uint32Array.from(boxes, (box) => trace.name[box]!),
  };
}
