// Selection of the run: host, input pipeline and rank.
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatTime, plural } from "../../base/format";
import { Picker } from "../../widgets/overlay/picker";
import { choosePipeline } from "./model";
import type { Analysis, Pipeline } from "./model";

/** The rank in the address, else the slowest run. */
export function chooseRank(text: string | null, runs: number): number {
  const rank = Number(text ?? 0);
  return Number.isInteger(rank) ? Math.max(0, Math.min(runs - 1, rank)) : 0;
}

interface Props {
  analysis: Analysis;
  pipeline: Pipeline;
  rank: number;
  /** Duration of the run with this rank; null while it is loading. */
  durationPs: number | null;
  onShow: (pipeline: Pipeline) => void;
  onRank: (rank: number) => void;
}

export function RunPickers({ analysis, pipeline, rank, durationPs, onShow, onRank }: Props) {
  const hosts = [...new Set(analysis.pipelines.map(({ host }) => host))];
  const here = analysis.pipelines.filter(({ host }) => host === pipeline.host);
  const goTo = (next: Pipeline | null): void => {
    if (next && next !== pipeline) onShow(next);
  };
  const count = (host: string): string => plural(analysis.pipelines.filter((one) => one.host === host).length, "pipeline");
  return (
    <div class="tfd-pickers" role="toolbar" aria-label="Selected run">
      {hosts.length > 1 ? (
        <Picker
          label="Host"
          noun="host"
          choices={hosts.map((id) => ({ id, note: count(id) }))}
          value={pipeline.host}
          onChoose={(id) => goTo(choosePipeline(analysis, id, null))}
        />
      ) : null}
      <Picker
        label="Input pipeline"
        noun="pipeline"
        value={pipeline.name}
        choices={here.map((one) => ({ id: one.name, note: `up to ${formatTime(one.maxPs)}, ${plural(one.runs, "call")}` }))}
        onChoose={(name) => goTo(here.find((one) => one.name === name) ?? null)}
      />
      <Rank rank={rank} runs={pipeline.runs} durationPs={durationPs} onRank={onRank} />
    </div>
  );
}

function Rank({
  rank,
  runs,
  durationPs,
  onRank,
}: {
  rank: number;
  runs: number;
  durationPs: number | null;
  onRank: (rank: number) => void;
}) {
  const [text, setText] = useState(String(rank));
  useEffect(() => setText(String(rank)), [rank]);
  const commit = (): void => {
    const next = chooseRank(text.trim(), runs);
    setText(String(next));
    if (next !== rank) onRank(next);
  };
  return (
    <span class="tfd-rank" role="group" aria-label="Rank">
      <label class="pick-label" for="tfd-rank">
        Rank
      </label>
      <button
        type="button"
        class="button icon"
        aria-label="Slower run"
        data-tip="Slower run"
        disabled={rank <= 0}
        onClick={() => onRank(rank - 1)}
      >
        ‹
      </button>
      <input
        id="tfd-rank"
        class="field number"
        inputMode="numeric"
        value={text}
        aria-describedby="tfd-rank-range"
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
          else if (event.key === "ArrowUp" && rank < runs - 1) onRank(rank + 1);
          else if (event.key === "ArrowDown" && rank > 0) onRank(rank - 1);
          else return;
          event.preventDefault();
        }}
      />
      <button
        type="button"
        class="button icon"
        aria-label="Faster run"
        data-tip="Faster run"
        disabled={rank >= runs - 1}
        onClick={() => onRank(rank + 1)}
      >
        ›
      </button>
      <span id="tfd-rank-range" class="dim number">
        of 0 to {formatCount(Math.max(0, runs - 1))}, slowest first{durationPs === null ? "" : `: ${formatTime(durationPs)}`}
      </span>
    </span>
  );
}
