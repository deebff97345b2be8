// What the page knows of input pipelines and of one run of one of them. Times in picoseconds on the axis of the trace viewer.

/** 2 bottleneck, 1 on the critical path, 0 neither. */
export type Role = 0 | 1 | 2;

export interface Link {
  title: string;
  href: string;
}

export interface Bottleneck {
  name: string;
  longName: string;
  /** Own time in the longest run. */
  selfPs: number;
  /** What to do, one step per entry. */
  steps: string[];
  links: Link[];
}

export interface Pipeline {
  host: string;
  /** "Host:0". */
  name: string;
  kind: "host" | "device";
  /** Name that the program or tf.data gave its dataset; "" for none. */
  dataset: string;
  runs: number;
  slow: number;
  minPs: number;
  meanPs: number;
  maxPs: number;
  /** Null for device pipelines, and where no iterator blocked. */
  bottleneck: Bottleneck | null;
}

export interface Analysis {
  inputBound: boolean;
  message: string;
  /** In the order of the server: host by host. */
  pipelines: Pipeline[];
  problems: string[];
}

export interface IteratorNode {
  id: string;
  parent: string;
  name: string;
  longName: string;
  dataset: string;
  /** First execution. */
  beginPs: number;
  /** Sum of wall times. */
  durationPs: number;
  /** Without the time of its inputs; negative when several of these ran at once. */
  selfPs: number;
  calls: number;
  role: Role;
}

/** Executions of iterators, as columns. */
export interface Spans {
  /** Index into the nodes of the run. */
  node: readonly number[];
  /** Index into the threads. */
  thread: readonly number[];
  beginPs: readonly number[];
  durationPs: readonly number[];
  /** 1 where the consumer waited. */
  blocking: readonly number[];
  /** How many executions one entry stands for. */
  count: readonly number[];
}

export interface Thread {
  pid: number;
  tid: number;
  name: string;
}

export interface Run {
  host: string;
  pipeline: string;
  rank: number;
  /** Runs of this pipeline: ranks below this number exist. */
  runs: number;
  beginPs: number;
  durationPs: number;
  nodes: IteratorNode[];
  threads: Thread[];
  spans: Spans;
  /** Before neighbours were merged. */
  executions: number;
  /** The longest are there, others are not. */
  truncated: boolean;
  problems: string[];
}
