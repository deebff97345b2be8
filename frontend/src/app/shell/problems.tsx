// The banner above every page of a run of which something was left out, cut or damaged: file, reason, byte and remedy.
import { useEffect, useState } from "preact/hooks";
import { formatCount, plural } from "../../base/format";
import type { RunInfo } from "../../api/types";
import { problemsFound, watchFindings } from "../../page/findings";
import { RichText } from "../../widgets/content/rich_text";
import { Icon } from "../icons";
import { runProblems } from "../address/view";
import { dismiss, remaining } from "./dismissed";

export function Problems({ info }: { info: RunInfo }) {
  const [, redraw] = useState(0);
  useEffect(() => watchFindings(() => redraw((n) => n + 1)), []);
  const problems = remaining(info.run, runProblems(info, problemsFound(info.run)));
  const [first] = problems;
  if (!first) return null;
  const line = (p: typeof first) => (
    <>
      {p.where && !p.message.includes(p.where) ? (
        <>
          <code>{p.where}</code>:{" "}
        </>
      ) : null}
      <RichText text={p.message} />
      {p.offset !== null && !new RegExp(`\\b(${p.offset}|${formatCount(p.offset)})\\b`).test(p.message)
        ? ` (byte ${formatCount(p.offset)})`
        : ""}
      {p.remedy ? (
        <>
          {" "}
          <RichText text={p.remedy} />
        </>
      ) : null}
    </>
  );
  return (
    <div class="problems" role="status">
      <Icon name="warn" />
      {problems.length === 1 ? (
        <p>{line(first)}</p>
      ) : (
        <details>
          <summary>{plural(problems.length, "problem")} in the files of this session; what could be read is shown</summary>
          <ul>
            {problems.map((p) => (
              <li key={`${p.where}|${p.message}`}>{line(p)}</li>
            ))}
          </ul>
        </details>
      )}
      <button
        type="button"
        class="button ghost problems-dismiss"
        aria-label="Dismiss until this tab is closed"
        data-tip="Dismiss until this tab is closed"
        onClick={() => {
          dismiss(info.run, problems);
          redraw((n) => n + 1);
        }}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}
