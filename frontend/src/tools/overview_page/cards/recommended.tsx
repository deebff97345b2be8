// Recommended pages: those of this run that show more than the overview, and documents about its framework and tf.data.
import { Card } from "../../../widgets/content/card";
import { RichText } from "../../../widgets/content/rich_text";
import { availableTool } from "../../../page/findings";
import type { PartProps } from "../part";

/** What the pages show, in the order of the list. */
const PAGES: readonly (readonly [tool: string, shows: string])[] = [
  ["input_pipeline_analyzer", "how long each step waits for input, and which input ops take the time"],
  ["tf_data_bottleneck_analysis", "which tf.data pipeline is slow, and which of its transformations is the bottleneck"],
  ["op_profile", "which ops take the time, and how well they use the device"],
  ["kernel_stats", "which kernels take the time of the GPU"],
  ["framework_op_stats", "which framework ops take the time of host and device"],
  ["pod_viewer", "which worker is slow in which step"],
  ["trace_viewer", "what ran when on devices and host threads"],
];
const TF_DATA = "tf_data_bottleneck_analysis";
/** Guides to profiling, by framework. */
const GUIDES: Readonly<Record<string, string>> = {
  JAX: '<a href="https://docs.jax.dev/en/latest/profiling.html">Profiling JAX programs</a>',
  TensorFlow: '<a href="https://www.tensorflow.org/guide/profiler">Profiling TensorFlow programs</a>',
};

export function RecommendedPages({ overview, tools, open }: PartProps) {
  const pages = PAGES.flatMap(([name, shows]) => {
    const tool = availableTool(tools, name);
    return tool === null ? [] : [{ tool, shows }];
  });
  const guides = (overview.extras?.frameworks ?? []).flatMap((name) => GUIDES[name] ?? []);
  const documents = tools.has(TF_DATA) ? [...guides, ...overview.documents] : guides;
  if (pages.length + documents.length === 0) return null;
  return (
    <Card title="Recommended pages" class="tips">
      <ul>
        {pages.map(({ tool, shows }) => (
          <li key={tool}>
            <button type="button" class="link" onClick={() => open(tool)}>
              {tools.get(tool)}
            </button>
            : {shows}
          </li>
        ))}
      </ul>
      {documents.length ? (
        <>
          <h3>Documents</h3>
          <ul>
            {documents.map((html) => (
              <li key={html}>
                <RichText html={html} />
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </Card>
  );
}
