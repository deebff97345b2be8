// How smoothly a timeline moves, frame by frame.

const LATE_MS = 16.7;
const CLOCK_MS = 0.2; // tolerance of the clock for a frame of exactly 1/60 s

/** Sends one wheel event per frame, the second half back again unless `oneWay`; returns the frame times and long tasks. */
function move(tab, steps, event) {
  return tab.frame().evaluate(
    async (steps, event) => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const stage = document.querySelector(".tl-stage");
      const at = stage.getBoundingClientRect();
      const long = [];
      const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration)));
      if (PerformanceObserver.supportedEntryTypes.includes("longtask")) observer.observe({ entryTypes: ["longtask"] });
      const frames = [];
      const works = [];
      let last = await frame();
      for (let step = 0; step < steps; step += 1) {
        const sign = event.oneWay || step < steps / 2 ? 1 : -1;
        const turn = { deltaX: sign * (event.deltaX ?? 0), deltaY: sign * (event.deltaY ?? 0), ctrlKey: event.ctrlKey ?? false };
        const place = { clientX: at.x + at.width * 0.6, clientY: at.y + at.height / 2, bubbles: true, cancelable: true };
        stage.dispatchEvent(new WheelEvent("wheel", { ...turn, ...place }));
        const now = await frame();
        frames.push(now - last);
        works.push(window.__timeline.work.at(-1) ?? 0);
        last = now;
      }
      observer.disconnect();
      return { frames, works, long, drawn: window.__timeline.boxesDrawn, loaded: window.__timeline.boxesLoaded };
    },
    steps,
    event,
  );
}

const quantile = (values, q) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];

const lateShare = (frames) => frames.filter((ms) => ms > LATE_MS + CLOCK_MS).length / frames.length;
const row = (values) => [0.5, 0.95, 1].map((q) => quantile(values, q).toFixed(1).padStart(6)).join(" ");

/** The round with the fewest late frames. */
async function best(rounds, round) {
  let found = null;
  for (let i = 0; i < rounds; i += 1) {
    const next = await round();
    if (found === null || lateShare(next.frames) < lateShare(found.frames)) found = next;
  }
  return found;
}

function report(name, { frames, works, long, drawn, loaded }) {
  const late = lateShare(frames);
  const longest = long.length ? `${long.length} (longest ${Math.max(...long).toFixed(0)} ms)` : "none";
  console.log(`${name.padEnd(8)} ${row(frames)}   ${row(works)}   ${(100 * late).toFixed(1).padStart(5)} %   long tasks: ${longest}   boxes ${drawn} of ${loaded}`);
}

/** Zooms, pans while zoomed in, and scrolls; prints what the frames took. */
export async function reportMoves(tab, rounds) {
  console.log("frame ms     p50    p95    max   work ms p50    p95    max    late");
  report("zoom", await best(rounds, () => move(tab, 240, { deltaY: -8, ctrlKey: true })));
  await move(tab, 10, { deltaY: -40, ctrlKey: true, oneWay: true });
  report("pan", await best(rounds, () => move(tab, 240, { deltaX: 20 })));
  report("scroll", await best(rounds, () => move(tab, 240, { deltaY: 6 })));
}
