// The timeline of one run of a collective: ops of the TPU, copies, and curves for what hands over to what.
import { useMemo, useRef } from "preact/hooks";
import { formatTime } from "../../base/format";
import { useWidth } from "../../widgets/content/use_width";
import { LANES, layout } from "./timeline_model";
import type { Placed, Run } from "./timeline_model";
import "./timeline.css";

const [LABEL, RIGHT, TOP, LANE, BAR, TICKS] = [110, 12, 8, 56, 18, 5];
const HEIGHT = TOP + LANES.length * LANE + 20;
/** Narrower bars would not be seen. */
const LEAST = 2;
/** About the width of a character. */
const CHARACTER = 7;

export function RunTimeline({ run }: { run: Run }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { placed, lengthPs } = useMemo(() => layout(run), [run]);
  const inner = Math.max(100, width - LABEL - RIGHT);
  const x = (share: number): number => LABEL + share * inner;
  const y = (lane: number): number => TOP + lane * LANE + (LANE - BAR) / 2;
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => i / TICKS);
  return (
    <div ref={box} class="run-timeline">
      <svg
        width={Math.max(width, LABEL + 100)}
        height={HEIGHT}
        role="img"
        aria-label={`${run.parts.length} parts of ${run.rendezvous} in ${formatTime(lengthPs)}; the table below lists them`}
      >
        {ticks.map((share) => (
          <g key={share}>
            <line class="run-grid" x1={x(share)} x2={x(share)} y1={TOP} y2={HEIGHT - 20} />
            <text class="run-text" x={x(share)} y={HEIGHT - 6} text-anchor={share === 1 ? "end" : share === 0 ? "start" : "middle"}>
              {formatTime(share * lengthPs)}
            </text>
          </g>
        ))}
        {LANES.map((name, lane) => (
          <text key={name} class="run-text" x={4} y={y(lane) + 13}>
            {name}
          </text>
        ))}
        {placed.map((one) => (
          <PartBar key={`${one.part.kind} ${one.part.beginPs}`} one={one} x={x} top={y(one.lane)} />
        ))}
        {run.flows.map(([from, to]) => {
          const [a, b] = [placed[from], placed[to]];
          return a && b ? (
            <path key={`${from} ${to}`} class="run-flow" d={curve(x(a.to), y(a.lane) + BAR / 2, x(b.from), y(b.lane) + BAR / 2)} />
          ) : null;
        })}
      </svg>
    </div>
  );
}

function PartBar({ one, x, top }: { one: Placed; x: (share: number) => number; top: number }) {
  const { part, from, to } = one;
  const wide = Math.max(LEAST, x(to) - x(from));
  return (
    <g data-tip={`${part.kind}\n${formatTime(part.endPs - part.beginPs)}`}>
      <rect class={part.kind.endsWith("done") ? "run-bar run-wait" : "run-bar"} x={x(from)} y={top} width={wide} height={BAR} />
      {wide > part.kind.length * CHARACTER ? (
        <text class="run-name" x={x(from) + 4} y={top + 13}>
          {part.kind}
        </text>
      ) : null}
    </g>
  );
}

/** Between lanes a curve from end to begin; within a lane an arc above the bars. */
function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = y1 === y2 ? -22 : 0;
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1 + bend} ${middle} ${y2 + bend} ${x2} ${y2}`;
}
