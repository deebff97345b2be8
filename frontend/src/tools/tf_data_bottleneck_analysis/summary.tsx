// The summary, the advice, and the table of all input pipelines.
import { useMemo } from "preact/hooks";
import type { UrlState } from "../../page/page";
import { storeAt } from "../../page/page_state";
import { formatTime } from "../../base/format";
import { Card } from "../../widgets/content/card";
import { RichText } from "../../widgets/content/rich_text";
import { SummaryBox } from "../../widgets/content/summary_box";
import { FitTable } from "../../widgets/table/fit_table";
import { hiding } from "../../base/table/transform";
import type { PipelineAdvice } from "../../base/documents";
import { headline, slowest } from "./model";
import type { Analysis, Pipeline } from "./model";

/** Number of pipelines listed per advice; the table has them all. */
const MAX_NAMED = 6;

/** Columns of use to other programs. */
const HIDDEN = ["settings", "dataset", "request_host"];

interface Props {
  analysis: Analysis;
  onShow: (pipeline: Pipeline) => void;
}

export function Summary({ analysis, onShow }: Props) {
  const { tone, title, sentences } = headline(analysis);
  const suggestions = analysis.found.advice;
  const worst = slowest(analysis);
  return (
    <SummaryBox tone={tone} title={title}>
      <p>
        <RichText text={sentences.join(" ")} />
      </p>
      {suggestions.map((advice) => {
        const pipelines = advice.pipelines.flatMap((row) => analysis.pipelines[row] ?? []);
        return (
          <div key={advice.steps.join()} class="tfd-advice">
            {suggestions.length > 1 || pipelines.length > 1 || pipelines[0] !== worst ? (
              <Named pipelines={pipelines} onShow={onShow} />
            ) : null}
            <Advice advice={advice} />
          </div>
        );
      })}
      {analysis.found.message && !analysis.found.input_bound ? (
        <p class="dim">
          <RichText text={analysis.found.message} />
        </p>
      ) : null}
    </SummaryBox>
  );
}

function Named({ pipelines, onShow }: { pipelines: readonly Pipeline[]; onShow: (pipeline: Pipeline) => void }) {
  return (
    <ul class="tfd-named">
      {pipelines.slice(0, MAX_NAMED).map((one) => (
        <li key={`${one.host} ${one.name}`}>
          <button type="button" class="link" onClick={() => onShow(one)}>
            {one.name} of {one.host}
          </button>
          : up to {formatTime(one.maxPs)}
          {one.bottleneck ? (
            <>
              , bottleneck <strong>{one.bottleneck.name}</strong> ({formatTime(one.bottleneck.selfPs)})
            </>
          ) : null}
        </li>
      ))}
      {pipelines.length > MAX_NAMED ? <li class="dim">and {pipelines.length - MAX_NAMED} more, in the table below</li> : null}
    </ul>
  );
}

function Advice({ advice: { steps, links } }: { advice: PipelineAdvice }) {
  return (
    <>
      {steps.length > 1 ? (
        <ol>
          {steps.map((step) => (
            <li key={step}>
              <RichText text={step} />
            </li>
          ))}
        </ol>
      ) : (
        steps.map((step) => (
          <p key={step}>
            <RichText text={step} />
          </p>
        ))
      )}
      {links.length ? (
        <p class="tfd-links">
          <span class="dim">Guides: </span>
          {links.map(({ title, address }, i) => [
            i ? ", " : "",
            <a key={address} href={address} target="_blank" rel="noreferrer noopener">
              {title}
            </a>,
          ])}
        </p>
      ) : null}
    </>
  );
}

interface AllProps extends Props {
  chosen: Pipeline;
  file: string;
  state: UrlState;
}

export function AllPipelines({ analysis, chosen, file, state, onShow }: AllProps) {
  const store = useMemo(() => hiding(storeAt(state, "t1"), HIDDEN), [state]);
  const open = (row: number): void => {
    const pipeline = analysis.pipelines[row];
    if (pipeline && pipeline !== chosen) onShow(pipeline);
  };
  return (
    <Card
      title="Summary of all input pipelines"
      help={"One row per pipeline of each host.\nDouble click or Enter shows its graph below.\nSource: trace."}
    >
      <FitTable most={300} data={analysis.found.pipelines} title="" fileName={`${file}_pipelines`} store={store} onOpen={open} />
    </Card>
  );
}
