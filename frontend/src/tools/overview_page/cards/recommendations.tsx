// Recommendations: statements, then the tools and documents that lead on.
import { Card } from "../../widgets/content/card";
import { RichText } from "../../widgets/content/rich_text";
import type { Findings } from "../../api/payload/findings";
import { isCovered } from "./findings_model";
import { links, statementsOf } from "./tips";
import type { Link } from "./tips";
import type { PartProps } from "./part";

const TF_DATA = "tf_data_bottleneck_analysis";

interface Props extends PartProps {
  /** Null until they are known. */
  found: Findings | null;
}

export function Recommendations({ overview, tools, open, found: findings }: Props) {
  const statements = statementsOf(overview).filter(({ topic }) => !isCovered(topic, findings));
  const found = links(overview, tools);
  const functions = (overview.extras?.functions ?? []).filter(({ share }) => share >= 0.2);
  // What has neither a tool nor a document is how to mark steps.
  const sentences = isCovered("marking", findings) ? [] : found.filter(({ tool, url }) => tool === null && url === null);
  const pages = found.filter(({ tool }) => tool !== null);
  const documents = found.filter(({ url }) => url !== null);
  return (
    <Card title="Recommendations for next steps" class="tips">
      {statements.length + sentences.length ? (
        <ul class="statements">
          {statements.map(({ text }) => (
            <li key={text}>
              <RichText html={text} />
            </li>
          ))}
          {sentences.map(({ text }) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ) : null}
      {functions.length && !isCovered("tf_function", findings) ? (
        <p class="dim">
          Functions with the most tracing or eager execution:{" "}
          {functions
            .slice(0, 3)
            .map(({ name, share }) => `${name} (${(100 * share).toFixed(1)}%)`)
            .join(", ")}
          .
        </p>
      ) : null}
      {pages.length || tools.has(TF_DATA) ? <h3>Pages that show more</h3> : null}
      <ul>
        {pages.map((link) => (
          <li key={link.tool}>
            <ToolLink link={link} open={open} />
          </li>
        ))}
        {tools.has(TF_DATA) ? (
          <li>
            <button type="button" class="link" onClick={() => open(TF_DATA)}>
              {tools.get(TF_DATA)}
            </button>
            : which tf.data pipeline is slow, and which of its transformations is the bottleneck
          </li>
        ) : null}
      </ul>
      {documents.length ? (
        <>
          <h3>Documents</h3>
          <ul>
            {documents.map(({ text, url }) => (
              <li key={text}>
                <a href={url ?? ""} target="_blank" rel="noreferrer noopener">
                  {text}
                </a>
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </Card>
  );
}

function ToolLink({ link: { tool, title, text }, open }: { link: Link; open: PartProps["open"] }) {
  return (
    <>
      <button type="button" class="link" onClick={() => open(tool ?? "")}>
        {title}
      </button>
      : {text}
    </>
  );
}
