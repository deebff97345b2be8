// The line above a page that says where its hosts were read: by the Dask cluster, by processes, and why there.
import { plural } from "../../base/format";
import type { ReadBy } from "./tracking";

const PLACES: Record<string, string> = {
  cluster: "by the Dask cluster",
  processes: "by processes of the server's machine",
  threads: "in the server",
  kept: "from summaries on disk",
};

/** Absent for runs that the server reads by itself as usual. */
export function ReadByLine({ readBy }: { readBy: ReadBy[] }) {
  if (!readBy.some(({ name, fallback }) => fallback || name === "cluster" || name === "processes")) return null;
  return (
    <div class="no-base" role="status" data-read-by={readBy.map(({ name }) => name).join(" ")}>
      {readBy.map(({ name, hosts, reason }) => (
        <span key={name + reason}>{`${plural(hosts, "host")} read ${PLACES[name] ?? name}. ${reason}`}</span>
      ))}
    </div>
  );
}
