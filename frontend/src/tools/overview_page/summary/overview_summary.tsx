// The summary at the top: title, sentences, bar and comparison of the hosts.
import { ShareBar } from "../../../widgets/chart/share_bar";
import { SummaryBox } from "../../../widgets/content/summary_box";
import { hostLine, xprofNote } from "../../../base/steps/reading";
import type { Findings } from "../../../api/payload/findings";
import type { Loaded } from "../../../widgets/status/use_load";
import { whileLooking, withFindings } from "../findings/model";
import { headline } from "./headline";
import type { Headline } from "./headline";
import type { PartProps } from "../part";
import { FINDING_KEY } from "../../../page/findings";

interface Props extends PartProps {
  answer: Pick<Loaded<Findings>, "data" | "error">;
}

/** The overview's own headline is shown if there are no findings to ask. */
function titled(overview: PartProps["overview"], { data, error }: Props["answer"]): Headline {
  const facts = headline(overview);
  if (data) return withFindings(facts, data);
  return error === null ? whileLooking(facts) : facts;
}

export function OverviewSummary({ page, overview, tools, open, answer }: Props) {
  const { tone, title, sentences, barLabel, parts } = titled(overview, answer);
  const { extras } = overview;
  const finding = answer.data?.headline.finding ?? null;
  const hosts = extras && hostLine(extras.hosts);
  const note = extras && xprofNote(extras);
  return (
    <SummaryBox tone={tone} title={title}>
      <p>
        {sentences.join(" ")}{" "}
        {finding === null ? null : (
          <button type="button" class="link" onClick={() => page.state.set({ [FINDING_KEY]: finding }, "replace")}>
            Show evidence
          </button>
        )}
      </p>
      {parts.length ? (
        <div class="summary-bar">
          <span>{barLabel}</span>
          <ShareBar parts={parts} label={barLabel} />
        </div>
      ) : null}
      {note ? <p class="dim">{note}</p> : null}
      {hosts ? (
        <p class={hosts.warn ? "host-line warn" : "host-line dim"}>
          {hosts.text}{" "}
          {tools.has("pod_viewer") ? (
            <button type="button" class="link" onClick={() => open("pod_viewer")}>
              Compare the workers
            </button>
          ) : null}
        </p>
      ) : null}
    </SummaryBox>
  );
}
