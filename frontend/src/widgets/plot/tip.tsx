// The box beside the pointer of a plot: facts of one place, name and value.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface TipText {
  title: string;
  /** Name and value with its unit. */
  lines: readonly (readonly [string, string])[];
  hint?: string;
}

const GAP = 12;

export function Tip({ text, at, width, top }: { text: TipText; at: number; width: number; top: number }) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState(0);
  useLayoutEffect(() => setSize(box.current?.offsetWidth ?? 0), [text]);
  const left = at + GAP + size <= width ? at + GAP : Math.max(0, at - GAP - size);
  return (
    <div ref={box} class="plot-tip" aria-hidden="true" style={{ left: `${left}px`, top: `${top}px` }}>
      <strong>{text.title}</strong>
      <dl>
        {text.lines.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
      </dl>
      {text.hint ? <p>{text.hint}</p> : null}
    </div>
  );
}
