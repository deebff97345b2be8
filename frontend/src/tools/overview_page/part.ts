// The props of the parts of the overview.
import { askedReading } from "../../page/page";
import type { PageProps } from "../../page/page";
import type { Params } from "../../api/client";
import type { Overview } from "../../base/documents";
import type { Patch } from "../../widgets/content/link";

export interface PartProps {
  page: PageProps;
  overview: Overview;
  /** Titles of tools with data, by id. */
  tools: ReadonlyMap<string, string>;
  /** Opens another tool of the same run. */
  open: (tool: string, more?: Readonly<Record<string, string>>) => void;
  /** The keys of the address that open another tool of the same run, for links. */
  keys: (tool: string, more?: Readonly<Record<string, string>>) => Patch;
  fileName: string;
}

/** What the page asks for besides run and host. */
export function askedFor({ reading, state }: Pick<PageProps, "reading" | "state">): Params {
  return { step_event: state.get("step_event"), ...askedReading(reading) };
}
