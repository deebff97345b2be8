// Recommended pages: those of this run that show more than the overview, and documents about its framework and tf.data.
import { Card } from "../../../widgets/content/card";
import { RichText } from "../../../widgets/content/rich_text";
import { availableTool } from "../../../page/findings";
import { Link } from "../../../widgets/content/link";
import type { PartProps } from "../part";

/** What the pages show, in the order of the list. */
const PAGES: readonly (readonly [tool: string, shows: string])[] = [
  ["input_pipeline_analyzer", "how long each step waits for input, and which input ops take the time"],
  ["tf_data_bottleneck_analysis", "which tf.data pipeline is slow, and which of its transformations is the bottleneck"],
  ["op_profile", "which ops take the time, and how well they use the device"],
  ["kernel_stats", "which kernels take the time of the GPU"],
  ["framework_op_stats", "which framework ops take the time of host and device"],
  ["source_view", "which lines of the program take the time"],
  ["pod_viewer", "which worker is slow in which step"],
  ["trace_viewer", "what ran when on devices and host threads"],
];
const TF_DATA = "tf_data_bottleneck_analysis";
const SOURCE = "source_view";
/** The tool of a run whose programs tell what lives at the peak. */
const BUFFERS = "memory_viewer";
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
            <RichText text={statement} />
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
  if (tool === null) return <RichText text={text} />;
  return (
    <>
      <Link to={keys(tool)}>{id}</Link>
      <RichText text={rest} />
    </>
  );
}

export function RecommendedPages({ overview, tools, keys }: PartProps) {
  const pages = PAGES.flatMap(([name, shows]) => {
    const tool = availableTool(tools, name);
    return tool === null ? [] : [{ tool, shows }];
  });
  const guides = overview.frameworks.flatMap((name) => GUIDES[name] ?? []);
  const documents = tools.has(TF_DATA) ? [...guides, ...TF_DATA_GUIDES] : guides;
  if (pages.length + documents.length === 0) return null;
  return (
    <Card title="Recommended pages" class="tips">
      <ol>
        {pages.map(({ tool, shows }) => (
          <li key={tool}>
            <Link to={keys(tool)}>{tools.get(tool)}</Link>: {shows}
            {tool === SOURCE && tools.has(BUFFERS) ? (
              <>
                , or <Link to={keys(tool, { order: "peak" })}>hold the memory at its peak</Link>
              </>
            ) : null}
          </li>
        ))}
      </ol>
      {documents.length ? (
        <>
          <h3>Documents</h3>
          <ol>
            {documents.map((text) => (
              <li key={text}>
                <RichText text={text} />
              </li>
            ))}
          </ol>
        </>
      ) : null}
    </Card>
  );
}
