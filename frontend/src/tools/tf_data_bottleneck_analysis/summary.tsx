// The summary, the advice, and the table of all input pipelines.
import { useMemo } from "preact/hooks";
import type { UrlState } from "../../page/page";
import { storeAt } from "../../page/page_state";
import { formatTime } from "../../base/format";
import { Card } from "../../widgets/content/card";
import { SummaryBox } from "../../widgets/content/summary_box";
import { FitTable } from "../../widgets/table/fit_table";
import { advices, codeParts, headline, pipelinesTable, slowest } from "./model";
import type { Analysis, Link, Pipeline } from "./types";

/** Number of pipelines listed per advice; the table has them all. */
const MAX_NAMED = 6;

interface Props {
  analysis: Analysis;
  onShow: (pipeline: Pipeline) => void;
}

export function Summary({ analysis, onShow }: Props) {
  const { tone, title, sentences } = headline(analysis);
  const suggestions = advices(analysis);
  const worst = slowest(analysis);
  return (
    <SummaryBox tone={tone} title={title}>
      <p>{sentences.join(" ")}</p>
      {suggestions.map(({ steps, links, pipelines }) => (
        <div key={steps.join()} class="tfd-advice">
          {suggestions.length > 1 || pipelines.length > 1 || pipelines[0] !== worst ? (
            <Named pipelines={pipelines} onShow={onShow} />
          ) : null}
          <Advice steps={steps} links={links} />
        </div>
      ))}
      {analysis.message && !analysis.inputBound ? <p class="dim">{analysis.message}</p> : null}
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

function Step({ text }: { text: string }) {
  return <>{codeParts(text).map((part, i) => (part.code ? <code key={i}>{part.text}</code> : part.text))}</>;
}

function Advice({ steps, links }: { steps: readonly string[]; links: readonly Link[] }) {
  return (
    <>
      {steps.length > 1 ? (
        <ol>
          {steps.map((step) => (
            <li key={step}>
              <Step text={step.replace(/^\d+\.\s*/, "")} />
            </li>
          ))}
        </ol>
      ) : (
        steps.map((step) => (
          <p key={step}>
            <Step text={step} />
          </p>
        ))
      )}
      {links.length ? (
        <p class="tfd-links">
          <span class="dim">Guides: </span>
          {links.map(({ title, href }, i) => [
            i ? ", " : "",
            <a key={href} href={href} target="_blank" rel="noreferrer noopener">
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
  const table = useMemo(() => pipelinesTable(analysis), [analysis]);
  const store = useMemo(() => storeAt(state, "t1"), [state]);
  const open = (row: number): void => {
    const pipeline = analysis.pipelines[row];
    if (pipeline && pipeline !== chosen) onShow(pipeline);
  };
  return (
    <Card
      title="Summary of all input pipelines"
      help={"One row per pipeline of each host.\nDouble click or Enter shows its graph below.\nSource: trace."}
    >
      <FitTable most={300} data={table} title="" fileName={`${file}_pipelines`} store={store} onOpen={open} />
    </Card>
  );
}
