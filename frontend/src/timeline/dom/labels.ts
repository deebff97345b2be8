// Labels of sections and tracks left of the boxes; only visible lanes have DOM elements.
import type { Layout, PlacedLane } from "../layout/layout";
import { LaneKind, ROW_HEIGHT } from "../layout/layout";
import type { Trace } from "../data/trace";
import { sectionTitle, trackKey } from "../data/trace";
import type { CssPx } from "../data/units";

export interface LabelEvents {
  toggleSection(pid: number): void;
  toggleTrack(key: string): void;
  /** Opens the menu of a track ("pid.tid") or section (pid). */
  menu(target: { readonly track: string } | { readonly section: number }, anchor: HTMLElement): void;
}

interface Label {
  readonly element: HTMLElement;
  readonly inner: HTMLElement;
  stamp: number;
  /** Cached position: styles are written only when it changes. */
  place: string;
}

export class Labels {
  private readonly shown = new Map<string, Label>();
  private stamp = 0;

  constructor(
    private readonly container: HTMLElement,
    private readonly events: LabelEvents,
  ) {}

  /** Removes all elements, so that the next update creates them from current names and states. */
  reset(): void {
    for (const { element } of this.shown.values()) element.remove();
    this.shown.clear();
  }

  /** Places a label beside every visible lane. */
  update(trace: Trace, layout: Layout, placed: readonly PlacedLane[], hidden: ReadonlySet<string>): void {
    this.stamp++;
    for (const { lane, y, pinned } of placed) {
      const key = `${pinned ? "p" : ""}${laneKey(trace, layout, lane)}:${layout.collapsed[lane]}`;
      let label = this.shown.get(key);
      if (label === undefined) {
        label = this.make(trace, layout, lane, pinned, hidden);
        this.shown.set(key, label);
        this.container.append(label.element);
      }
      label.stamp = this.stamp;
      setPlace(label, y, layout.height[lane]!, pinned ? 0 : layout.pinnedHeight);
    }
    for (const [key, label] of this.shown) {
      if (label.stamp === this.stamp) continue;
      label.element.remove();
      this.shown.delete(key);
    }
  }

  private make(trace: Trace, layout: Layout, lane: number, pinned: boolean, hidden: ReadonlySet<string>): Label {
    const element = document.createElement("div");
    const inner = document.createElement("div");
    inner.className = "tl-label-inner";
    element.append(inner);
    if (layout.kind[lane] === LaneKind.Section) this.fillSection(trace, layout, lane, element, inner, hidden);
    else this.fillTrack(trace, layout, lane, element, inner, pinned);
    return { element, inner, stamp: 0, place: "" };
  }

  private fillSection(
    trace: Trace,
    layout: Layout,
    lane: number,
    element: HTMLElement,
    inner: HTMLElement,
    hidden: ReadonlySet<string>,
  ): void {
    const section = trace.sections[layout.index[lane]!]!;
    const title = sectionTitle(trace, layout.index[lane]!);
    const collapsed = layout.collapsed[lane] === 1;
    const tracks = trace.tracks.slice(section.trackBegin, section.trackEnd);
    const out = tracks.filter((track) => hidden.has(trackKey(track))).length;
    element.className = "tl-label tl-section";
    const button = this.triangle(collapsed, title, () => this.events.toggleSection(section.pid));
    const name = span("tl-name", section.title);
    const host = title === section.title ? "" : `${section.host}, `;
    const plane = section.title === section.name ? "" : `${section.name}, `;
    const note = span(
      "tl-note",
      `${host}${plane}${tracks.length} ${tracks.length === 1 ? "track" : "tracks"}${out ? `, ${out} hidden` : ""}`,
    );
    inner.append(button, name, note);
    if (out > 0) inner.append(this.more({ section: section.pid }, `Actions for ${title}`));
    const place = section.host && !section.name.includes(section.host) ? `${section.name} on ${section.host}` : section.name;
    element.title = `${place}\nClick to ${collapsed ? "expand" : "collapse"}`;
    inner.addEventListener("click", (event) => {
      if (!(event.target instanceof Element && event.target.closest("button"))) this.events.toggleSection(section.pid);
    });
  }

  private fillTrack(trace: Trace, layout: Layout, lane: number, element: HTMLElement, inner: HTMLElement, pinned: boolean): void {
    const track = trace.tracks[layout.index[lane]!]!;
    const key = trackKey(track);
    const name = track.name || `thread ${track.tid}`;
    element.className = pinned ? "tl-label tl-track tl-pinned" : "tl-label tl-track";
    const tall = track.rows > 1 || track.kind === "counter";
    inner.append(
      tall ? this.triangle(layout.collapsed[lane] === 1, name, () => this.events.toggleTrack(key)) : span("tl-triangle", ""),
      span("tl-name", name),
      this.more({ track: key }, `Actions for track ${name}`),
    );
    const section = sectionTitle(trace, track.section);
    element.title = `${name}\n${section}\n${track.events.toLocaleString("en-US")} events`;
  }

  private triangle(collapsed: boolean, name: string, toggle: () => void): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = collapsed ? "tl-triangle" : "tl-triangle tl-open";
    button.setAttribute("aria-expanded", String(!collapsed));
    button.setAttribute("aria-label", `${collapsed ? "Expand" : "Collapse"} ${name}`);
    button.addEventListener("click", toggle);
    return button;
  }

  private more(target: { readonly track: string } | { readonly section: number }, label: string): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tl-more";
    button.textContent = "\u22EE";
    button.setAttribute("aria-label", label);
    button.setAttribute("aria-haspopup", "menu");
    button.addEventListener("click", () => this.events.menu(target, button));
    return button;
  }
}

/** Moves a label to its lane; the part above `top` is covered by pinned tracks. */
function setPlace(label: Label, y: CssPx, height: CssPx, top: CssPx): void {
  const place = `${y} ${height} ${top}`;
  if (label.place === place) return;
  label.place = place;
  const { element, inner } = label;
  const cover = Math.max(0, top - y);
  element.style.transform = `translateY(${y}px)`;
  element.style.height = `${height}px`;
  element.style.clipPath = cover > 0 ? `inset(${cover}px 0 0 0)` : "";
  // the name of a tall track remains visible while its first row is scrolled away
  const slide = Math.max(0, Math.min(cover, height - ROW_HEIGHT - 3));
  inner.style.transform = slide > 0 ? `translateY(${slide}px)` : "";
}

function laneKey(trace: Trace, layout: Layout, lane: number): string {
  const index = layout.index[lane]!;
  return layout.kind[lane] === LaneKind.Section ? `s${trace.sections[index]!.pid}` : `t${trackKey(trace.tracks[index]!)}`;
}

function span(className: string, text: string): HTMLElement {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}
