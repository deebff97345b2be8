// The summary at the top: title, sentences, bar and comparison of the hosts.
import { ShareBar } from "../../../widgets/chart/share_bar";
import { StepBar } from "../../../widgets/chart/step_bar";
import { SummaryBox } from "../../../widgets/content/summary_box";
import { hostLine } from "../../../base/steps/reading";
import type { RunFindings } from "../../../base/documents";
import type { Loaded } from "../../../widgets/status/use_load";
import { whileLooking, withFindings } from "../findings/model";
import { headline } from "./headline";
import { keyFigures } from "./summary";
import { Info } from "../../../widgets/content/info";
import type { Headline } from "./headline";
import type { PartProps } from "../part";
import { Link } from "../../../widgets/content/link";
import { RichText } from "../../../widgets/content/rich_text";
import { FINDING_KEY } from "../../../page/findings";
import { PART_KEY } from "../../../page/page";
import { useKey } from "../../../page/use_key";

interface Props extends PartProps {
  answer: Pick<Loaded<RunFindings>, "data" | "error">;
}

/** The overview's own headline is shown if there are no findings to ask. */
function titled(overview: PartProps["overview"], { data, error }: Props["answer"]): Headline {
  const facts = headline(overview);
  if (overview.xprof) return facts;
  if (data) return withFindings(facts, data);
  return error === null ? whileLooking(facts) : facts;
}

export function OverviewSummary({ page, overview, tools, keys, answer }: Props) {
  const { tone, title, sentences, barLabel, parts, segments } = titled(overview, answer);
  // The average step stands in the sentence above.
  const saysMore = segments.length === 0 || overview.steps.decomposition.base !== "step" || overview.steps.decomposition.devices.length > 1;
  const finding = answer.data?.headline.finding ?? null;
  const hosts = hostLine(overview.steps.hosts);
  const part = useKey(page.state, PART_KEY);
  const facts = keyFigures(overview);
  return (
    <SummaryBox tone={tone} title={title}>
      <p>
        <RichText text={sentences.join(" ")} />{" "}
        {finding === null ? null : (
          <Link to={{ [FINDING_KEY]: finding }} replace>
            Show evidence
          </Link>
        )}
      </p>
      {segments.length || parts.length ? (
        <div class="summary-bar">
          {saysMore ? <span>{barLabel}</span> : null}
          {segments.length ? (
            <StepBar
              segments={segments}
              label={barLabel}
              selected={part}
              onSelect={(id) => page.state.set({ [PART_KEY]: id }, "replace")}
            />
          ) : (
            <ShareBar parts={parts} label={barLabel} />
          )}
        </div>
      ) : null}
      {facts.length ? (
        <dl class="key-figures">
          {facts.map(({ name, value, help = "" }) => (
            <div key={name}>
              <dt>
                <span>{name}</span>
                <Info text={help} label={name} />
              </dt>
              <dd class="number">{value}</dd>
            </div>
          ))}
        </dl>
      ) : null}
      {hosts ? (
        <p class={hosts.warn ? "host-line warn" : "host-line dim"}>
          {hosts.text} {tools.has("pod_viewer") ? <Link to={keys("pod_viewer")}>Compare the workers</Link> : null}
        </p>
      ) : null}
    </SummaryBox>
  );
}
