// Recommended pages: those of this run that show more than the overview, and documents about its framework and tf.data.
import { Card } from "../../../widgets/content/card";
import { RichText } from "../../../widgets/content/rich_text";
import { availableTool } from "../../../page/findings";
import { Link } from "../../../widgets/content/link";
import type { Finding } from "../../../base/documents";
import type { PartProps } from "../part";

/** What the pages show, in the order of the list of a program without findings. */
const PAGES: Readonly<Record<string, string>> = {
  input_pipeline_analyzer: "how long each step waits for input, and which input ops take the time",
  tf_data_bottleneck_analysis: "which transformation of which tf.data pipeline is the bottleneck",
  time_budget: "what each step consists of, and what the host did meanwhile",
  op_profile: "which ops take the time, and how well they use the device",
  kernel_stats: "which kernels take the time of the GPU",
  hlo_stats: "the ops of the compiled programs, with their time and rates",
  framework_op_stats: "which framework ops take the time of host and device",
  communication: "which collectives take time, and which device is late",
  memory_profile: "what held the memory when",
  memory_viewer: "which buffers a program needs at its peak",
  source_view: "which lines of the program take the time",
  pod_viewer: "which worker is slow in which step",
  trace_viewer: "what ran when on devices and host threads",
};
const TRACE = "trace_viewer";
const MOST_PAGES = 4;
const TF_DATA = "tf_data_bottleneck_analysis";
/** Guides to profiling, by framework. */
const GUIDES: Readonly<Record<string, string>> = {
  JAX: "[Profiling JAX programs](https://docs.jax.dev/en/latest/profiling.html)",
  TensorFlow: "[Profiling TensorFlow programs](https://www.tensorflow.org/guide/profiler)",
};
/** Guides to input through tf.data. */
const TF_DATA_GUIDES = [
  "[Analyze tf.data performance with the TF Profiler](https://www.tensorflow.org/guide/data_performance_analysis)",
  "[Better performance with the tf.data API](https://www.tensorflow.org/guide/data_performance)",
];

/** XProf's recommendation: its statements and numbered tips. */
export function Recommendation({ overview, tools, keys }: PartProps) {
  if (overview.xprof === null) return null;
  const { statements, tips } = overview.xprof;
  const headings = [...new Set(tips.map(({ heading }) => heading))];
  return (
    <Card title="Recommendation for next step" class="tips">
      <ul>
        {statements.map((statement) => (
          <li key={statement}>
            <RichText text={statement} links />
          </li>
        ))}
      </ul>
      {headings.map((heading) => (
        <section key={heading}>
          <h3>{heading}</h3>
          <ol>
            {tips
              .filter((tip) => tip.heading === heading)
              .map(({ text }) => (
                <li key={text}>
                  <TipText text={text} tools={tools} keys={keys} />
                </li>
              ))}
          </ol>
        </section>
      ))}
    </Card>
  );
}

/** A tip that begins with the id of a tool of this run links to it. */
function TipText({ text, tools, keys }: { text: string } & Pick<PartProps, "tools" | "keys">) {
  const [, id = "", rest = ""] = /^(\w+)( .*)?$/s.exec(text) ?? [];
  const tool = availableTool(tools, id);
  if (tool === null) return <RichText text={text} links />;
  return (
    <>
      <Link to={keys(tool)}>{id}</Link>
      <RichText text={rest} links />
    </>
  );
}

/** The pages that show the numbers of the first finding and the trace; without findings, the first that the run has. */
function pagesOf(findings: readonly Finding[], tools: PartProps["tools"]): { tool: string; shows: string }[] {
  const cited = findings[0]?.evidence.map(({ tool }) => tool.replace(/@$/, "")) ?? [];
  const wanted = cited.length > 0 ? [...cited, TRACE] : Object.keys(PAGES);
  return [...new Set(wanted)]
    .flatMap((name) => {
      const [tool, shows] = [availableTool(tools, name), PAGES[name]];
      return tool === null || shows === undefined ? [] : [{ tool, shows }];
    })
    .slice(0, MOST_PAGES);
}

export function RecommendedPages({ overview, tools, keys, findings }: PartProps & { findings: readonly Finding[] }) {
  const pages = pagesOf(findings, tools);
  const guides = overview.frameworks.flatMap((name) => GUIDES[name] ?? []);
  const documents = tools.has(TF_DATA) ? [...guides, ...TF_DATA_GUIDES] : guides;
  if (pages.length + documents.length === 0) return null;
  return (
    <Card title="Recommended pages" class="tips">
      <ul class="recommended">
        {pages.map(({ tool, shows }) => (
          <li key={tool}>
            <Link to={keys(tool)} class="link" data-tip={`Shows ${shows}`}>
              {tools.get(tool)}
            </Link>
          </li>
        ))}
      </ul>
      {documents.length ? (
        <details>
          <summary>Documents</summary>
          <ol>
            {documents.map((text) => (
              <li key={text}>
                <RichText text={text} links />
              </li>
            ))}
          </ol>
        </details>
      ) : null}
    </Card>
  );
}
