// Takes the place of an answer that has not arrived: the loading skeleton, or the error with a button to try again.
import type { ComponentChildren } from "preact";
import { Loading } from "../../widgets/status/loading";
import { Panel } from "../../widgets/status/panel";
import type { Loaded } from "../../widgets/status/use_load";
import { explain } from "./explain";
import type { PageProps } from "../page";

interface Props {
  answer: Pick<Loaded<unknown>, "error" | "reload">;
  page: Pick<PageProps, "run" | "tool" | "host">;
  /** What is being done, e.g. "Computing the roofline of 3 hosts". */
  what: string;
  /** Rows of the skeleton. */
  rows?: number;
  /** Further buttons beside an error. */
  children?: ComponentChildren;
}

export function Pending({ answer, page: { run, tool, host }, what, rows = 20, children }: Props) {
  if (answer.error === null) return <Loading what={what} rows={rows} />;
  return (
    <Panel {...explain(answer.error, { run, tool: tool.id, host })}>
      {children}
      <button type="button" class="button" onClick={answer.reload}>
        Try again
      </button>
    </Panel>
  );
}
