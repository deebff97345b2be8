// Memory in use over the program order, with the peak and the lifetime of the selected buffer.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Mark } from "../../../base/chart/chart_spec";
import { Chart } from "../../../widgets/chart/chart";
import { swatchStyle } from "../../../widgets/chart/style";
import { useTheme } from "../../../widgets/chart/use_theme";
import type { ProgramMemory } from "../../../base/documents";
import type { Buffer } from "../model";
import { CAPACITY, hidesCapacity, spaceChart } from "./charts";
import { bufferColour, lifetime } from "../model";

interface Props {
  view: ProgramMemory;
  space: string;
  buffer: Buffer | null;
  zoom: readonly [number, number] | null;
  onZoom: (zoom: readonly [number, number] | null) => void;
  fileName: string;
  /** Beside the title of the chart. */
  tools: ComponentChildren;
}

export function WorkingSpace({ view, space, buffer, zoom, onZoom, fileName, tools }: Props) {
  const theme = useTheme();
  const spec = useMemo(() => spaceChart(view, space), [view, space]);
  const points = view.heap.rowCount;
  const peakEvent = view.peak_event ?? 0;
  const marks = useMemo((): Mark[] => {
    const peak: Mark = { from: peakEvent + 1, to: peakEvent + 2, colour: null, label: "peak" };
    if (!buffer) return [peak];
    const { begin, end } = lifetime(buffer, points);
    return [peak, { from: begin, to: end, height: buffer.size, colour: bufferColour(buffer, theme) }];
  }, [peakEvent, points, buffer, theme]);
  return (
    <>
      <Chart
        spec={spec}
        title=""
        tools={tools}
        fileName={`${fileName}_program_order`}
        height={230}
        startHidden={hidesCapacity(view, space) ? [CAPACITY] : []}
        marks={marks}
        zoom={zoom}
        onZoom={onZoom}
        pickHint="Drag: zoom. Right click or Escape: show all."
      />
      {buffer ? (
        <p class="lifetime-key">
          <i class="swatch" style={swatchStyle({ light: bufferColour(buffer, "light"), dark: bufferColour(buffer, "dark") }, theme)} />
          <span>Lifetime of {buffer.buffer_id === null ? "the small buffers" : buffer.name}; its height is the size of the buffer.</span>
        </p>
      ) : (
        <p class="lifetime-key dim">Hover over a buffer below to see its lifetime.</p>
      )}
    </>
  );
}
