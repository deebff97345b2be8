// The tooltip for the box or counter sample under the pointer.
import { formatCount, formatQuantity, formatTime } from "../../base/format";
import { counterMax, sampleAt } from "../data/counters";
import type { Elements } from "./dom";
import { trackPointAt } from "../layout/hit_test";
import { pieceOf } from "../data/binding_path";
import type { BindingPath, PieceIndex } from "../data/binding_path";
import type { View } from "../layout/hit_test";
import { instant } from "../data/ticks";
import { boxName, trackOfBox } from "../data/trace";
import type { Trace } from "../data/trace";
import type { BoxIndex, CssPx, TrackIndex } from "../data/units";

const DISTANCE: CssPx = 14;
/** Longer names are truncated; the details pane shows them in full. */
const NAME_LENGTH = 240;

export class Tooltip {
  private readonly name = document.createElement("strong");
  private readonly lines = document.createElement("span");
  private shown = "";

  constructor(private readonly elements: Elements) {
    elements.tooltip.append(this.name, this.lines);
  }

  /** Shows the tooltip at `at` (pixels of the rows' area), or hides it if there is nothing to describe. */
  show(trace: Trace, view: View | null, at: { readonly x: CssPx; readonly y: CssPx } | null, box: BoxIndex, rulerHeight: CssPx): void {
    const { tooltip } = this.elements;
    const point = view && at && box < 0 && at.y >= 0 ? trackPointAt(view, at.x, at.y) : null;
    const counter = point && trace.tracks[point.track]!.kind === "counter" ? point : null;
    if (at === null || (box < 0 && counter === null)) {
      tooltip.hidden = true;
      return;
    }
    const content = box >= 0 ? describe(trace, box) : describeCounter(trace, counter!.track, counter!.time);
    if (content === null) {
      tooltip.hidden = true;
      return;
    }
    const key = content.join("\n");
    if (key !== this.shown) {
      this.shown = key;
      this.name.textContent = content[0] ?? "";
      this.lines.textContent = content.slice(1).join("\n");
    }
    tooltip.hidden = false;
    this.place(at, rulerHeight);
  }

  /** Shows the tooltip of a piece of the binding path, at a point above the rows. */
  showPiece(path: BindingPath, piece: PieceIndex, at: { readonly x: CssPx; readonly y: CssPx }, rulerHeight: CssPx): void {
    const [first, ...rest] = describePiece(path, piece);
    this.shown = "";
    this.name.textContent = first ?? "";
    this.lines.textContent = rest.join("\n");
    this.elements.tooltip.hidden = false;
    this.place(at, rulerHeight);
  }

  private place(at: { readonly x: CssPx; readonly y: CssPx }, rulerHeight: CssPx): void {
    const { tooltip, stage, root } = this.elements;
    const left = stage.offsetLeft + at.x;
    const top = stage.offsetTop + rulerHeight + at.y;
    const { offsetWidth, offsetHeight } = tooltip;
    const x = left + DISTANCE + offsetWidth > root.clientWidth ? left - DISTANCE - offsetWidth : left + DISTANCE;
    const y = top + DISTANCE + offsetHeight > root.clientHeight ? top - DISTANCE - offsetHeight : top + DISTANCE;
    tooltip.style.transform = `translate(${Math.max(0, Math.round(x))}px, ${Math.max(0, Math.round(y))}px)`;
  }
}

/** Lines of text about a box, name first. */
export function describe(trace: Trace, box: BoxIndex): string[] {
  const name = boxName(trace, box);
  const length = trace.duration[box]!;
  const track = trace.tracks[trackOfBox(trace, box)]!;
  const lines = [
    `start ${instant(trace.begin[box]!, Math.max(length / 1000, 1))}`,
    length > 0 ? `duration ${formatTime(length)}` : "an instant",
    track.name,
  ];
  if (name !== null) return [name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH)}\u2026` : name, ...lines];
  const most = trace.strings[trace.name[box]!] ?? "";
  return [
    `${formatCount(trace.count[box])} events, too short to draw separately`,
    `such as ${most.slice(0, NAME_LENGTH)}`,
    ...lines,
    "double click to zoom in",
  ];
}

/** Lines of text about a piece of the binding path. */
export function describePiece(path: BindingPath, piece: PieceIndex): string[] {
  const { part, where, duration } = pieceOf(path, piece);
  return [
    part,
    where.length > NAME_LENGTH ? `${where.slice(0, NAME_LENGTH)}\u2026` : where,
    `${formatTime(duration)} of the binding path of ${path.device}`,
  ];
}

/** Name, value and time of the sample in force; null before the first one. */
export function describeCounter(trace: Trace, track: TrackIndex, time: number): string[] | null {
  const counters = trace.counters;
  const sample = counters ? sampleAt(counters, track, time) : -1;
  if (counters === null || sample < 0) return null;
  const { name, unit } = trace.tracks[track]!;
  const value = formatQuantity(counters.value[sample], unit);
  if (Number.isNaN(counters.value[sample]!)) return [name, "no sample", `since ${instant(counters.begin[sample]!, 1000)}`];
  const low = counters.low[sample]!;
  return [
    name,
    low === counters.value[sample]! ? value : `${formatQuantity(low, unit)} to ${value}`,
    `since ${instant(counters.begin[sample]!, 1000)}`,
    `maximum ${formatQuantity(counterMax(trace, track), unit)}`,
  ];
}
