// Treemap of the peak: groups by category or op, and buffers within them.
import { useMemo } from "preact/hooks";
import { Chart } from "../../../widgets/chart/chart";
import { useTheme } from "../../../widgets/chart/use_theme";
import type { Choosing } from "./buffer_bar";
import type { ProgramMemory } from "../../../base/documents";
import { peakTreemap } from "./charts";
import type { Buffer, Grouping } from "../model";

const HEIGHT = 300;

interface Props extends Choosing {
  view: ProgramMemory;
  buffers: readonly Buffer[];
  grouping: Grouping;
  fileName: string;
  /** Moves the focus to the table of the same buffers. */
  onTable: () => void;
}

export function Treemap({ view, buffers, grouping, fileName, chosen, found, onPoint, onPick, onTable }: Props) {
  const theme = useTheme();
  const spec = useMemo(() => peakTreemap(view, grouping, found, theme), [view, grouping, found, theme]);
  const bufferAt = (place: number | null): Buffer | null =>
    place === null ? null : (buffers.find(({ index }) => index === place) ?? null);
  return (
    <Chart
      spec={spec}
      title=""
      fileName={fileName}
      height={HEIGHT}
      bare
      chosen={chosen?.index ?? null}
      onTable={onTable}
      onPoint={(place) => onPoint(bufferAt(place))}
      onPick={(place) => {
        const buffer = bufferAt(place);
        if (buffer) onPick(buffer);
      }}
    />
  );
}
