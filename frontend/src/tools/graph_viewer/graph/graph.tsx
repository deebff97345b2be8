// The drawing of a computation or of what surrounds an instruction, with its controls: colours, search, fusions, legend.
import { useEffect, useMemo, useState } from "preact/hooks";
import { plural } from "../../../base/format";
import type { Theme } from "../../../base/colour";
import { useTheme } from "../../../widgets/chart/use_theme";
import { GraphView } from "../../../widgets/graph/graph_view";
import type { Shown } from "../../../widgets/graph/graph_view";
import { findNodes, neighbour, drawnAs } from "./drawing";
import type { HloGraph } from "../../../base/documents";
import { VisibleGraph, nodeId } from "./parts";
import type { Actions, Look } from "./parts";
import { COLOURINGS, fillOf, scaleOf } from "../times";
import type { Colouring, ModuleTimes } from "../times";

const READABLE = 0.75;
/** Below this scale, texts are illegible and only frames are drawn. */
const LEGIBLE = 0.3;

interface Props extends Actions {
  drawing: HloGraph;
  /** Changes when another part of the program is shown, not when a fusion opens. */
  identity: string;
  selected: string | null;
  colouring: Colouring;
  times: ModuleTimes | null;
  /** Why there are no times; null while they load. */
  untimed: string | null;
  closable: boolean;
  label: string;
  fileName: string;
  onColour: (colouring: Colouring) => void;
  onMore: (nodes: number) => void;
}

export function Graph(props: Props) {
  const { drawing, identity, selected, colouring, times, untimed, closable, label, fileName, onSelect, onCenter, onToggle } = props;
  const [query, setQuery] = useState("");
  const theme = useTheme();
  const matches = useMemo(() => findNodes(drawing, query), [drawing, query]);
  const step = (by: number): void => {
    const matchIndex = selected === null ? -1 : matches.indexOf(selected);
    const next = matches[(matchIndex + by + matches.length) % matches.length] ?? matches[0];
    if (next !== undefined) onSelect(next);
  };
  const look: Look = { selected, found: useMemo(() => new Set(matches), [matches]), colouring, times, theme, closable };
  const middle = drawnAs(drawing, selected) ?? drawnAs(drawing, drawing.center) ?? drawing.root ?? null;
  const onKey = (key: string): boolean => {
    const to = neighbour(drawing, selected, key);
    if (to !== null) onSelect(to);
    else if (selected === null) return false;
    else if (key === "Enter") onCenter(selected);
    else if (key === "e" || key === "E") onToggle(selected);
    else return false;
    return true;
  };
  const active = drawing.nodes.find(({ name }) => name === selected);
  return (
    <>
      <div class="graph-controls">
        <span class="segmented" role="group" aria-label="Colour of the nodes">
          {COLOURINGS.map(({ id, label: text, tip }) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === colouring}
              data-tip={tip}
              disabled={id !== "kind" && times === null}
              onClick={() => props.onColour(id)}
            >
              {text}
            </button>
          ))}
        </span>
        <span class="graph-find">
          <input
            class="field"
            type="search"
            aria-label="Find in the graph"
            placeholder="Find in the graph"
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
            data-tip="Names, opcodes, shapes, framework ops and sources; Enter goes to the next match"
            onKeyDown={(event) => {
              if (event.key === "Enter" && matches.length) step(event.shiftKey ? -1 : 1);
            }}
          />
          <span class="dim number" aria-live="polite">
            {query.trim()
              ? matches.length
                ? `${selected !== null && matches.includes(selected) ? `${matches.indexOf(selected) + 1} of ` : ""}${plural(matches.length, "node")}`
                : "no match"
              : plural(drawing.nodes.length, "node")}
          </span>
        </span>
      </div>
      <GraphView
        drawing={{ width: drawing.width, height: drawing.height, identity, readable: READABLE, focus: middle }}
        label={label}
        fileName={fileName}
        active={active ? nodeId(active.id) : undefined}
        hint="Drag, Ctrl + wheel; arrows, Enter, E, + − 0"
        onKey={onKey}
      >
        {(shown) => <Visible drawing={drawing} look={look} shown={shown} actions={{ onSelect, onCenter, onToggle }} />}
      </GraphView>
      <Legend drawing={drawing} colouring={colouring} times={times} untimed={untimed} theme={theme} onMore={props.onMore} />
    </>
  );
}

interface VisibleProps {
  drawing: HloGraph;
  look: Look;
  shown: Shown;
  actions: Actions;
}

/** Memoized: renders only when the visible part or what is marked in it changes. */
function Visible({ drawing, look, shown: { viewport, scale, saving }, actions }: VisibleProps) {
  const plain = scale < LEGIBLE && !saving;
  const { selected, found, colouring, times, theme, closable } = look;
  return useMemo(
    () => <VisibleGraph drawing={drawing} {...look} {...actions} viewport={viewport} plain={plain} />,
    [drawing, viewport, plain, selected, found, colouring, times, theme, closable],
  );
}

const STOPS = [0, 0.25, 0.5, 0.75, 1] as const;

interface LegendProps {
  drawing: HloGraph;
  colouring: Colouring;
  times: ModuleTimes | null;
  untimed: string | null;
  theme: Theme;
  onMore: (nodes: number) => void;
}

function Legend({ drawing, colouring, times, untimed, theme, onMore }: LegendProps) {
  const groups = [...new Set(drawing.nodes.map(({ group }) => group))].sort();
  const scale = times && colouring !== "kind" ? scaleOf(times, colouring) : null;
  return (
    <ul class="legend graph-legend">
      {scale ? (
        <li>
          {scale.low}
          <span class="graph-scale" aria-hidden="true">
            {STOPS.map((place) => (
              <i key={place} style={{ background: fillOf(place, colouring, theme) }} />
            ))}
          </span>
          {scale.high}
          <span class="dim"> {scale.base}; without fill: not measured</span>
        </li>
      ) : (
        groups.map((group) => (
          <li key={group}>
            <i class={`graph-key op-${group}`} />
            {group}
          </li>
        ))
      )}
      {drawing.nodes.some(({ boundary }) => boundary) ? <li class="dim">dashed: has neighbours that are not shown</li> : null}
      {untimed ? <li class="dim">{untimed}</li> : null}
      {drawing.omitted > 0 ? (
        <li>
          {plural(drawing.omitted, "further node")} not shown
          <button type="button" class="link" onClick={() => onMore(drawing.nodes.length + drawing.omitted)}>
            Show all
          </button>
        </li>
      ) : null}
    </ul>
  );
}

/** The last drawing stays until the next has arrived, so that nothing flickers. */
export function useLatest<T>(value: T | null, identity: string): T | null {
  const [kept, setKept] = useState<{ identity: string; value: T } | null>(null);
  useEffect(() => {
    if (value !== null) setKept({ identity, value });
  }, [value, identity]);
  return value ?? (kept?.identity === identity ? kept.value : null);
}
