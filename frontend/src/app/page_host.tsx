// Shows the page of the chosen tool: loads its chunk, guards it, and explains when it cannot be shown.
import type { PageModule, PageProps } from "../api/page";
import { explain } from "../api/explain";
import { Boundary } from "../widgets/boundary";
import { Loading } from "../widgets/loading";
import { Panel } from "../widgets/panel";
import { useLoad } from "../widgets/use_load";
import { folderOf, loadPage } from "./pages";

interface Props extends PageProps {
  /** A change makes the page load its data again. */
  round: number;
  load?: (toolId: string) => Promise<PageModule>;
}

export function PageHost({ round, load = loadPage, ...props }: Props) {
  const { tool, run, host, hosts } = props;
  const page = useLoad(folderOf(tool.id), () => load(tool.id));
  if (!tool.available) {
    return (
      <Panel tone="empty" title={`${tool.title}: no data in this session`} why={tool.reason ?? ""} todo={["Choose another tool on the left, or capture again with what is missing."]} />
    );
  }
  if (page.error !== null) {
    return (
      <Panel tone="error" title="This page could not be loaded" why="Its program did not arrive: the server may have been updated or stopped." todo={["Reload the browser tab."]}>
        <button type="button" class="button" onClick={page.reload}>Try again</button>
      </Panel>
    );
  }
  if (!page.data) return <Loading what={`Opening ${tool.title}`} />;
  const { Page } = page.data;
  const name = JSON.stringify([run, tool.id, host, hosts, round]);
  return (
    <Boundary
      name={name}
      fallback={(error, retry) => (
        <Panel {...explain(error, { run, tool: tool.id, host })}>
          <button type="button" class="button" onClick={retry}>Try again</button>
        </Panel>
      )}
    >
      <Page key={name} {...props} />
    </Boundary>
  );
}
