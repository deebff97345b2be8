// The scroll position at which one timeline shows at its top what another one shows there, whatever the heights. Pure.
import type { Trace } from "../../../timeline/data/trace";
import type { CssPx } from "../../../timeline/data/units";
import { LaneKind } from "../../../timeline/layout/layout";
import type { Layout } from "../../../timeline/layout/layout";

/** A trace and where its lanes are. */
export interface Laid {
  readonly trace: Trace;
  readonly layout: Layout;
}

/** Top and end of a lane in content pixels. */
type Extent = readonly [top: CssPx, end: CssPx];

const extent = ({ top, height }: Layout, lane: number): Extent => [top[lane] ?? 0, (top[lane] ?? 0) + (height[lane] ?? 0)];

/** Extents of the scrolling lanes: of tracks by their index, of sections by theirs. */
function extents({ layout }: Laid): { readonly tracks: Map<number, Extent>; readonly sections: Map<number, Extent> } {
  const [tracks, sections] = [new Map<number, Extent>(), new Map<number, Extent>()];
  for (let lane = layout.pinned; lane < layout.length; lane++) {
    const of = layout.kind[lane] === LaneKind.Track ? tracks : sections;
    of.set(layout.index[lane] ?? -1, extent(layout, lane));
  }
  return { tracks, sections };
}

/** The scrolling lanes of `from` that have a counterpart in `to`, from top to bottom: their extents in both. */
function pairedLanes(from: Laid, to: Laid, counterpart: readonly (number | null)[]): [Extent, Extent][] {
  const theirs = extents(to);
  const sectionOf = new Map<number, number>();
  counterpart.forEach((track, own) => {
    const [mine, other] = [from.trace.tracks[own], track === null ? undefined : to.trace.tracks[track]];
    if (mine && other && !sectionOf.has(mine.section)) sectionOf.set(mine.section, other.section);
  });
  const { layout } = from;
  const pairs: [Extent, Extent][] = [];
  for (let lane = layout.pinned; lane < layout.length; lane++) {
    const index = layout.index[lane] ?? -1;
    const other =
      layout.kind[lane] === LaneKind.Track ? theirs.tracks.get(counterpart[index] ?? -1) : theirs.sections.get(sectionOf.get(index) ?? -1);
    if (other) pairs.push([extent(layout, lane), other]);
  }
  return pairs;
}

/**
 * The scroll position of `to` for that of `from`. `counterpart`: per track of `from` the corresponding one of `to`.
 *
 * What is at the top of `from` is at the top of `to`: within a track at the same share of its height, between two tracks
 * that correspond at the same share of what lies between their counterparts.
 */
export function scrollBeside(from: Laid, to: Laid, counterpart: readonly (number | null)[], scroll: CssPx): CssPx {
  let [own, other]: [CssPx, CssPx] = [0, 0]; // the last place above that is known in both
  for (const [[top, end], [theirTop, theirEnd]] of pairedLanes(from, to, counterpart)) {
    if (scroll < top) {
      // lanes may stand in another order there: then the next one comes when it is reached
      return other + ((scroll - own) / (top - own)) * Math.max(0, theirTop - other);
    }
    if (scroll < end) return theirTop + ((scroll - top) / (end - top)) * (theirEnd - theirTop);
    [own, other] = [end, theirEnd];
  }
  return other + (scroll - own);
}
