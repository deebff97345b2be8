// Above every page of a saved report: what the file holds.
import type { ReportFacts } from "../../api/stored";

export function ReportNote({ report }: { report: ReportFacts }) {
  return (
    <p class="report-note">
      Saved report of {report.run}
      {report.base === null ? "" : `, compared with ${report.base}`}: the first view of every page, and the timeline of one window.
      {report.redacted === null ? "" : ` ${report.redacted}`} Version {report.version}.
    </p>
  );
}
