// Overview page: what limits the program, findings, step times, top ops and links to other pages.
import { useMemo } from "preact/hooks";
import { PART_KEY } from "../../page/page";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, toolPatch } from "../../page/page_state";
import { FINDING_KEY, loadFindings } from "../../page/findings";
import { documentOf } from "../../api/client";
import type { RunInfo } from "../../api/types";
import { useKey } from "../../page/use_key";
import { plural } from "../../base/format";
import { Callouts } from "../../widgets/status/callouts";
import { Card } from "../../widgets/content/card";
import { Figures } from "../../widgets/content/figures";
import { useLoad } from "../../widgets/status/use_load";
import { BaseCard } from "./cards/base_card";
import { FindingsPanel } from "./findings/panel";
import { InferredCard } from "./cards/inferred";
import { LatencyCard, SessionCard } from "./cards/latency";
import { askedFor } from "./part";
import type { PartProps } from "./part";
import { Recommendation, RecommendedPages } from "./cards/recommended";
import { StepCard } from "./cards/step_card";
import { OverviewSummary } from "./summary/overview_summary";
import { environment, performance } from "./summary/summary";
import { TopOps } from "./cards/top_ops";
import "./page.css";

/** Query keys of this page. */
const OWN_KEYS = ["step_event", FINDING_KEY, PART_KEY];

function OverviewPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const event = useKey(state, "step_event");
  const params = { run, host: host ?? undefined, ...askedFor(page) };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "overview_page", params, { signal }));
  const info = useLoad(run, (signal) => client.json<RunInfo>("run_info", { run }, { signal }));
  const tools = useMemo(() => new Map(info.data?.tools.filter((one) => one.available).map((one) => [one.id, one.title])), [info.data]);
  if (answer.data === null)
    return (
      <Pending answer={answer} page={page} what={`Computing the overview of ${plural(hostCount(tool, host, hosts), "host")}`}>
        {event ? (
          <button type="button" class="button" onClick={() => state.set({ step_event: null }, "push")}>
            Remove the named event
          </button>
        ) : null}
      </Pending>
    );
  const fileName = fileNameOf("overview", run, host);
  const keys: PartProps["keys"] = (id, more = {}) => toolPatch(id, host, OWN_KEYS, more);
  const open: PartProps["open"] = (id, more) => state.set(keys(id, more), "push");
  return <Content page={page} overview={answer.data} tools={tools} open={open} keys={keys} fileName={fileName} />;
}

function Content(props: PartProps) {
  const { overview, page } = props;
  // After the overview, so that its figures appear at once.
  const own = page.reading === "own";
  const findings = useLoad(own ? JSON.stringify([page.run, page.host]) : null, () => loadFindings(page.client, page.run, page.host));
  return (
    <div class="tool-page">
      <div class="tool-page-body overview">
        <Callouts messages={overview.messages} />
        <OverviewSummary {...props} answer={findings} />
        <BaseCard {...props} />
        {own ? <FindingsPanel {...props} answer={findings} /> : <Recommendation {...props} />}
        <StepCard {...props} />
        <LatencyCard {...props} />
        {own ? (
          <>
            <SessionCard {...props} />
            <InferredCard {...props} />
            <RecommendedPages {...props} findings={findings.data?.findings ?? []} />
          </>
        ) : null}
        <Card title="Performance summary" collapsed={own}>
          <Figures items={performance(overview)} />
        </Card>
        <Card title="Run environment" collapsed={own}>
          <Figures items={environment(overview)} />
        </Card>
        <TopOps {...props} />
      </div>
    </div>
  );
}

const page: PageModule = { ids: ["overview_page"], Page: OverviewPage, compares: true };
export default page;
