// Payload types of the plugin's routes, as the server declares them.

type HostChoice = "one" | "several" | "one_or_all" | "all";

export interface Problem {
  code: string;
  message: string;
  file?: string | null;
  offset?: number | null;
  /** What to do about it, if the message does not say so. */
  remedy?: string;
}

/** One entry of `runs_info`: what is known about a run without opening a file. */
export interface RunSummary {
  run: string;
  session: string;
  directory: string;
  hosts: number;
  bytes: number;
  mtime_ms: number;
  problems: Problem[];
}

interface HostInfo {
  name: string;
  bytes: number;
  mtime_ms: number;
  kind: string;
  problem: Problem | null;
}

interface ToolParam {
  name: string;
  type: string;
  default: unknown;
  sentence?: string;
}

export interface ToolInfo {
  id: string;
  title: string;
  group: string;
  summary: string;
  hosts: HostChoice;
  /** The choices of the host picker, including `ALL_HOSTS` if the tool accepts it. */
  host_names: string[];
  available: boolean;
  reason: string | null;
  /** How to record what the tool lacks, if `reason` does not say so. */
  remedy?: string;
  params: ToolParam[];
}

export interface RunInfo {
  run: string;
  hosts: HostInfo[];
  device_types: string[];
  tools: ToolInfo[];
  problems: Problem[];
}

export interface Status {
  version: string;
  /** As given to the server. */
  logdir: string;
  /** The path from the root, for programs that run in another directory; of a URL the same as `logdir`. */
  absolute_logdir: string;
  patterns: string[];
  scanned_directories: number;
  scan_ms: number;
  runs: number;
  capture_enabled: boolean;
  problems: Problem[];
}

export interface Config {
  hideCaptureProfileButton: boolean;
  enableTabNameLabel: boolean;
  srcPathPrefix: string | null;
  /** Whether pages can show XProf's figures. */
  xprofReading: boolean;
  /** A sentence above the pages, e.g. that another package has the tab Profile. */
  note?: string;
}

type CellValue = string | number | boolean | null;

interface DataTableColumn {
  id?: string;
  label?: string;
  type: string;
  /** Unit of the numbers (`us`, `bytes`, `percent`, `GFLOP/s`, ...); absent for texts and counts. */
  unit?: string | null;
  help?: string | null;
}

interface DataTableCell {
  v?: CellValue;
  f?: string | null;
}

/** A table as Google's DataTable JSON, with our `unit` and `help` in the columns. */
export interface DataTable {
  cols: DataTableColumn[];
  rows: { c: (DataTableCell | null)[] }[];
  p?: Record<string, string>;
}

export const ALL_HOSTS = "ALL_HOSTS";
