// Allocation timeline: offset and lifetime of temporaries over the program order.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../../../widgets/chart/chart";
import { useTheme } from "../../../widgets/chart/use_theme";
import type { Choosing } from "./buffer_bar";
import type { ProgramMemory } from "../../../base/documents";
import { blocksOf } from "../model";
import type { Buffer } from "../model";
import { blocksChart } from "./charts";

interface Props extends Choosing {
  view: ProgramMemory;
  zoom: readonly [number, number] | null;
  onZoom: (zoom: readonly [number, number] | null) => void;
  buffers: readonly Buffer[];
  fileName: string;
  /** Shown beside the title of the chart. */
  tools: ComponentChildren;
}

export function Blocks({ view, zoom, onZoom, buffers, fileName, tools, chosen, onPoint, onPick }: Props) {
  const theme = useTheme();
  const known = useMemo(() => new Map(buffers.map((buffer) => [buffer.buffer_id ?? -1, buffer])), [buffers]);
  const blocks = useMemo(() => blocksOf(view), [view]);
  const spec = useMemo(() => blocksChart(view, known, theme), [view, known, theme]);
  const bufferAt = (place: number): Buffer | null => known.get(blocks[place]?.buffer_id ?? -1) ?? null;
  const place = chosen ? blocks.findIndex(({ buffer_id: id }) => id === chosen.buffer_id) : -1;
  return (
    <>
      <Chart
        spec={spec}
        title=""
        fileName={fileName}
        tools={tools}
        height={340}
        zoom={zoom}
        onZoom={onZoom}
        chosen={place < 0 ? null : place}
        pickHint="Drag: zoom. Right click or Escape: show all."
        onPoint={(at) => onPoint(at === null ? null : bufferAt(at))}
        onPick={(at) => {
          const buffer = bufferAt(at);
          if (buffer) onPick(buffer);
        }}
      />
      <p class="dim">Full colour: live at the peak. Faded: live at other times.</p>
    </>
  );
}
