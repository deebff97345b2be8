// The page of every tool that answers tables and has no folder of its own.
import type { PageModule, PageProps } from "../../api/page";

function GenericPage({ tool }: PageProps) {
  return <p>{tool.title}</p>;
}

const page: PageModule = { ids: [], Page: GenericPage };
export default page;
