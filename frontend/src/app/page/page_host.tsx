// Shows the page of the chosen tool: loads its chunk, catches its errors, and explains why it cannot be shown.
import { useEffect } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { explain } from "../../page/failure/explain";
import { hostCount, toolPatch } from "../../page/page_state";
import { Link } from "../../widgets/content/link";
import { Boundary } from "../../widgets/status/boundary";
import { Progress, Loading } from "../../widgets/status/loading";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { FindingsNote } from "./findings_note";
import { LeftOutBanner } from "./left_out";
import { folderOf, holdLoading, loadAllWhenIdle, loadedPage, loadPage } from "./pages";
import { ReadByLine } from "./read_by";
import { useTracking } from "./tracking";

const NO_DATA_ADVICE = "Choose another tool on the left, or capture a profile that contains this data.";

interface Props extends PageProps {
  /** Changing it makes the page reload its data. */
  round: number;
  load?: (toolId: string) => Promise<PageModule>;
}

export function PageHost({ round, load = loadPage, ...props }: Props) {
  const { tool, run, host, hosts } = props;
  const page = useLoad(folderOf(tool.id), () => load(tool.id));
  const shown = page.data ?? (load === loadPage && page.error === null ? loadedPage(tool.id) : null);
  if (!tool.available) {
    return (
      <Panel
        tone="empty"
        title={`${tool.title}: no data in this session`}
        why={tool.reason ?? ""}
        todo={tool.remedy ? [tool.remedy, "Choose another tool on the left."] : [NO_DATA_ADVICE]}
      />
    );
  }
  if (page.error !== null) {
    return (
      <Panel
        tone="error"
        title="This page could not be loaded"
        why="Loading its script failed: the server may have been updated or stopped."
        todo={["Reload the browser tab."]}
      >
        <button type="button" class="button" onClick={page.reload}>
          Try again
        </button>
      </Panel>
    );
  }
  if (!shown) return <Loading what={`Opening ${tool.title}`} />;
  const { Page, compares, findings } = shown;
  const name = JSON.stringify([run, tool.id, host, hosts, round]);
  return (
    <Boundary
      name={name}
      fallback={(error, retry) => (
        <Panel {...explain(error, { run, tool: tool.id, host })}>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </Panel>
      )}
    >
      <TrackedPage key={name} Page={Page} compares={compares ?? false} findings={findings} {...props} />
    </Boundary>
  );
}

/** The page with the progress of its requests, the missing hosts and the findings about it. */
function TrackedPage({ Page, compares = false, findings, ...props }: PageProps & Omit<PageModule, "ids">) {
  const count = hostCount(props.tool, props.host, props.hosts);
  const { client, progress, leftOut, readBy, ready } = useTracking(props.client, props.run, count);
  useEffect(() => {
    if (!ready) return holdLoading();
    loadAllWhenIdle();
    return undefined;
  }, [ready]);
  const page = <Page {...props} client={client} />;
  return (
    <Progress.Provider value={progress}>
      <div class="page-lines">
        {props.base.run !== null && !compares ? <NoBase {...props} /> : null}
        {leftOut ? <LeftOutBanner leftOut={leftOut} of={count} /> : null}
        <ReadByLine readBy={readBy} />
        <div class="page-rest">
          {findings && props.reading === "own" ? (
            <div class="noted-page">
              <FindingsNote {...props} others={findings} ready={ready} />
              <div class="noted-page-body">{page}</div>
            </div>
          ) : (
            page
          )}
        </div>
      </div>
    </Progress.Provider>
  );
}

/** Above pages that cannot show a base. */
function NoBase({ tool, base }: PageProps) {
  return (
    <p class="no-base" role="status">
      <span>
        {tool.title} shows one run at a time, without the base {base.run}.
      </span>
      <Link to={toolPatch("compare", null, [])}>What changed between the runs</Link>
    </p>
  );
}
