// Answers the requests of the trace viewer from the window that a saved report holds.
import type { Maker, StoredAnswer, StoredAnswers } from "../../api/stored";
import { nameSums, searchHits, storedEvent } from "../../timeline/data/stored_window";
import type { StoredWindow } from "../../timeline/data/stored_window";
import { decodeTrace } from "../../timeline/data/trace";

const TAG = "trace_viewer@";
interface Host extends StoredWindow {
  readonly boxes: Uint8Array<ArrayBuffer>;
}

const json = (value: unknown): StoredAnswer => ({ status: 200, body: new TextEncoder().encode(JSON.stringify(value)) });

/** Answers the requests of the trace viewer; null for others, and for what only a server has. */
export function timelineAnswers(answers: StoredAnswers): Maker {
  const hosts = new Map<string, Promise<Host | null>>();
  const read = async (run: string, host: string): Promise<Host | null> => {
    const place: [string, string][] = [
      ["run", run],
      ["host", host],
    ];
    const boxes = await answers.find("page", [...place, ["tag", TAG], ["format", "columns"]]);
    const details = await answers.find("page", [...place, ["tag", TAG], ["format", "details"]]);
    if (boxes?.status !== 200 || !details) return null;
    const trace = decodeTrace(boxes.body.buffer);
    return { boxes: boxes.body, trace, details: JSON.parse(new TextDecoder().decode(details.body)) as StoredWindow["details"] };
  };
  return async (route, params) => {
    if (route !== "page" || params.get("tag") !== TAG || params.has("clocks") || params.has("reading")) return null;
    const run = params.get("run") ?? "";
    const name = params.get("host") ?? "";
    const key = JSON.stringify([run, name]);
    const host = await (hosts.get(key) ?? hosts.set(key, read(run, name)).get(key));
    if (!host) return null;
    switch (params.get("format") ?? "") {
      case "columns":
        return { status: 200, body: host.boxes };
      case "search":
        return { status: 200, body: searchHits(host, params) };
      case "sums":
        return json(nameSums(host, params));
      case "event": {
        const found = storedEvent(host, params);
        return found && json(found);
      }
      default:
        return null;
    }
  };
}
