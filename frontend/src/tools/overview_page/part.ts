// The props of the parts of the overview.
import type { PageProps } from "../../page/page";
import type { Params } from "../../api/client";
import type { Patch } from "../../widgets/content/link";
import type { Overview } from "./decode";

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
  return reading === "xprof" ? {} : { step_event: state.get("step_event") };
}
