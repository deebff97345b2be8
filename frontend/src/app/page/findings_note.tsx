// The line above a page that names the findings about it, and leads to the overview.
import { useEffect, useState } from "preact/hooks";
import type { Client } from "../../api/client";
import { ALL_HOSTS } from "../../api/types";
import type { RunFindings } from "../../base/documents";
import type { PageProps } from "../../page/page";
import { FINDING_KEY, findingsAbout, knownFindings, loadFindings } from "../../page/findings";
import { plural } from "../../base/format";
import { Link } from "../../widgets/content/link";
import { RichText } from "../../widgets/content/rich_text";
import { leavePage } from "../address/view";
import "./findings_note.css";

/** The findings need all hosts; of larger runs this line shows them only after the overview has asked for them. */
const MOST_HOSTS = 8;

interface Props extends Pick<PageProps, "run" | "tool" | "host"> {
  /** Not the page's own, whose progress is that of the page. */
  client: Client;
  /** Tools whose findings are shown besides those of the page. */
  others: readonly string[];
  /** The page has its data; the findings are not requested before. */
  ready: boolean;
}

export function FindingsNote({ run, tool, others, host, client, ready }: Props) {
  const [found, setFound] = useState<RunFindings | null>(() => knownFindings(client, run));
  const hosts = tool.host_names.filter((name) => name !== ALL_HOSTS).length;
  const ask = ready && found === null && hosts <= MOST_HOSTS;
  useEffect(() => {
    if (!ask) return undefined;
    let left = false;
    // A page works without this line: the overview reports errors.
    loadFindings(client, run).then(
      (value) => {
        if (!left) setFound(value);
      },
      () => undefined,
    );
    return () => {
      left = true;
    };
  }, [ask, client, run]);
  const [first, ...more] = found === null ? [] : findingsAbout(found, [tool.id, ...others], host);
  if (!found || !first) return null;
  const to = { ...leavePage(), tool: "overview_page", tag: null, host: null, hosts: null, [FINDING_KEY]: first.id };
  return (
    <aside class="findings-note" aria-label="Findings about this page">
      <strong>Finding</strong>
      <span class="findings-note-title" data-tip={first.title}>
        <RichText text={first.title} />
      </span>
      <Link to={to}>{more.length ? `Evidence, advice and ${plural(more.length, "more finding")}` : "Evidence and advice"}</Link>
    </aside>
  );
}
