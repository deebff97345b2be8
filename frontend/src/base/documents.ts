// What pages receive, made of the dataclasses of tpu_profile_plugin/tools (tests/unit/tools/test_documents.py).

import type { TableData } from "./table/table_data";

/** Memory of an allocator after each of its events; sizes are bytes, times whole picoseconds of the recording. */
export interface AllocationsOverTime {
  /** Name of the allocator. */
  readonly memory: string;
  readonly host: string;
  /** Number of its events. */
  readonly instants: number;
  /** The first event after which most is in use. */
  readonly peak: number;
  /** Events of the series, with the highest of each stretch. */
  readonly shown: readonly number[];
  /** One per shown event. */
  readonly time_ps: readonly number[];
  /** Memory in use, one per shown event. */
  readonly heap: readonly number[];
  /** Parts of the heap for `region`, `op`, `step` and `line`; those of each add up to it. */
  readonly stacks: Readonly<Record<"region" | "op" | "step" | "line", readonly MemoryPart[]>>;
  /** The event after which blocks are listed. */
  readonly instant: number;
  /** Time of this event. */
  readonly at_ps: number;
  /** Of all blocks recorded and in use then. */
  readonly live_bytes: number;
  /** Number of these blocks. */
  readonly blocks: number;
  /** Memory in use then that no recorded block accounts for. */
  readonly rest_bytes: number;
  /** These blocks, the largest first, at most 500. */
  readonly live: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Memory of an allocator. */
export interface AllocatorMemory {
  /** Number of the device, or name of the allocator. */
  readonly id: string;
  /** The TPU core; "" of allocators that have a name of their own. */
  readonly device: string;
  readonly peak: AllocatorPeak;
  /** Its events: all up to 1,000, else the one with most in use of each of 1,000 groups. */
  readonly timeline: TableData;
  /** Allocations at the peak, the largest first, equal ones together; last those that are no recorded allocation. */
  readonly live: TableData;
}

/** State of an allocator when most memory is in use; sizes are bytes, all 0 if none ever is. */
export interface AllocatorPeak {
  /** Since the start of the recording. */
  readonly time_ps: number;
  /** Reserved for temporaries of running programs. */
  readonly stack: number;
  /** Allocated. */
  readonly heap: number;
  /** Stack and heap. */
  readonly used: number;
  /** Available. */
  readonly free: number;
  /** What the allocator manages; 0 if unknown, as of PyTorch's allocator of the host. */
  readonly capacity: number;
  /** Largest heap since the program started, also before the recording. */
  readonly lifetime: number;
  /** Of the free memory, 0 to 1. */
  readonly fragmentation: number;
  /** Bytes of the segments that blocks are cut from; null if the allocator has none. */
  readonly segments: number | null;
  /** The largest free block in them; null if unknown. */
  readonly largest_free: number | null;
}

/** Batching configuration of one model; 0 or "" where it was not recorded. */
export interface BatchingParameters {
  readonly num_batch_threads: number;
  readonly max_batch_size: number;
  readonly batch_timeout_micros: number;
  readonly max_enqueued_batches: number;
  readonly allowed_batch_sizes: string;
}

/** The time between successive steps. */
export interface BetweenSteps {
  /** By device. */
  readonly duration_ps: readonly number[];
  /** [device][category]. */
  readonly time_ps: readonly number[][];
}

/** A category of step time with its parts, of which the time between steps has none. */
export interface BudgetCategory {
  readonly parts: readonly BudgetPart[];
  readonly id: string;
  readonly name: string;
  readonly help: string;
}

/** A device whose time is accounted for. */
export interface BudgetDevice {
  /** Its name, with that of its host if there are several. */
  readonly label: string;
  readonly name: string;
  readonly host: string;
  /** "tpu", "gpu", "cpu" or "host". */
  readonly kind: string;
}

/** A part of a step, or of a category of its time. */
export interface BudgetPart {
  readonly id: string;
  readonly name: string;
  readonly help: string;
}

/** All steps, with an entry per step. */
export interface BudgetSteps {
  readonly number: readonly number[];
  /** Names, or numbers of steps without one. */
  readonly name: readonly string[];
  /** [step][device], on the time axis of the device's host. */
  readonly begin_ps: readonly number[][];
  /** [step][device]. */
  readonly duration_ps: readonly number[][];
}

/** A rule without a finding. */
export interface Check {
  readonly id: string;
  readonly looks_for: string;
  readonly reason: string;
  /** "passed": the cause is not there; "unknown": the profile lacks what the rule needs; "failed": the rule raised an error. */
  readonly state: "passed" | "unknown" | "failed";
  /** The rule's documentation, a paragraph a line. */
  readonly help: string;
}

/** Events of collectives, an entry of each member per event, ordered by device, kind, iteration and time. */
export interface CollectiveParts {
  /** Number of the TPU. */
  readonly device: readonly number[];
  /** Run id of the module, of 64 bits. */
  readonly run: readonly string[];
  /** Position in the names of the host. */
  readonly rendezvous: readonly number[];
  /** Position in the kinds of the timeline. */
  readonly kind: readonly number[];
  readonly begin_ps: readonly number[];
  readonly end_ps: readonly number[];
}

/** Collectives, steps, devices, clocks and launches of the chosen hosts; times are whole picoseconds. */
export interface Communication {
  /** One row per collective, most exposed time without waits first, as findings rank them. */
  readonly ops: TableData;
  /** Null without steps. */
  readonly cost: CommunicationCost | null;
  readonly steps: readonly CommunicationStep[];
  /** One row per device. */
  readonly ranks: TableData;
  readonly stragglers: readonly LateDevice[];
  /** Hosts of which all devices are late. */
  readonly late_hosts: readonly string[];
  /** Longest first. */
  readonly first_waits: readonly WaitForStart[];
  /** Hosts against the first one, devices against their host. */
  readonly clocks: TableData;
  /** What to add to the times of each host so that its clock agrees with that of the first one. */
  readonly host_offsets_ps: Readonly<Record<string, number>>;
  /** Runs of collectives that ended before the last rank began. */
  readonly early_ends: number;
  /** One row per GPU. */
  readonly launches: TableData;
  /** Sentences. */
  readonly notes: readonly string[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The price of communication. */
export interface CommunicationCost {
  /**
   * Of the step, or of the time from step to step, that communication takes and no computation hides, waits for late devices
   * included; 0 to 1.
   */
  readonly share: number;
  /** What it is a share of. */
  readonly base: string;
}

/** Communication in a step, summed over devices. */
export interface CommunicationStep {
  readonly number: number;
  readonly name: string;
  /** On the time axis of the host of the first device. */
  readonly begin_ps: number;
  /** Time with a collective under way. */
  readonly communication_ps: number;
  /** The part of it in which the device computes nothing. */
  readonly exposed_ps: number;
  /** The rest; null without communication. */
  readonly hidden_percent: number | null;
}

/** Changes from a base to the run; times are per step and device that takes part. */
export interface ComparedRuns {
  /**
   * "step", "time from step to step" (if something is between steps) or "recording"; "execution" if a side has no steps:
   * then all times are per execution of the program with most time in both.
   */
  readonly compared: string;
  /** The time that is compared. */
  readonly length: Difference;
  /** The step. */
  readonly step: Difference;
  /** By id of the part of the time budget and of the time between steps. */
  readonly parts: Readonly<Record<string, Difference>>;
  readonly base: ComparedSide;
  readonly run: ComparedSide;
  /** A sentence to show above all figures if the runs have little in common. */
  readonly caution: string | null;
  /** Their differences add up to that of `length`, the rest is the last row; empty if a side has no steps. */
  readonly contributions: TableData;
  readonly programs: TableData;
  readonly ops: TableData;
  readonly memory: TableData;
  readonly environment: TableData;
  /** The difference in a sentence. */
  readonly headline: string;
  /** Of the run; "same" for differences that are no more than noise. */
  readonly tone: "same" | "slower" | "faster" | "unknown";
  /** Differences below it are noise whatever the steps say. */
  readonly floor_ps: number;
  /** The categories of time with their parts, in the order of display. */
  readonly groups: readonly BudgetCategory[];
  /** What could not be compared, and why. */
  readonly notes: readonly string[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** One of two runs that are compared. */
export interface ComparedSide {
  /** Number of compared steps, 0 without any; two recordings without steps are compared as one step each. */
  readonly steps: number;
  /** Steps of the recording, by which its totals may be divided; null without any. */
  readonly recorded_steps: number | null;
  /** Share of its time of ops that is in programs that both runs have, 0 to 1; null without ops. */
  readonly matched: number | null;
  /** Median time from step to step; null without steps. */
  readonly median_ps: number | null;
  /** Numbers of the steps that are far longer. */
  readonly single_steps: readonly number[];
  /** What these add to the average step. */
  readonly excess_ps_per_step: number;
  /** Every how many steps they come; null if irregular. */
  readonly period: number | null;
}

/** One run of an input pipeline: the call of its root that returned an element. */
export interface DataPipelineRun {
  readonly host: string;
  readonly pipeline: string;
  /** "host" or "device". */
  readonly kind: string;
  /** 0 for the longest run of the pipeline. */
  readonly rank: number;
  /** Number of runs of the pipeline. */
  readonly runs: number;
  readonly begin_ps: number;
  readonly duration_ps: number;
  /** From the begin of the first execution, which may precede the run, to the end of the last. */
  readonly window_ps: readonly [number, number];
  /** Id of an iterator; "" if none blocked. */
  readonly bottleneck: string;
  readonly iterators: readonly PipelineIterator[];
  /** Number of those that are not listed because there are too many. */
  readonly iterators_left_out: number;
  readonly threads: readonly IteratorThread[];
  readonly spans: IteratorSpans;
  /** Number of executions before they are merged. */
  readonly executions: number;
  /** Units of the time axis to which executions are merged. */
  readonly resolution: number;
  /** Only the longest executions are listed. */
  readonly truncated: boolean;
  /** Sentences about damage. */
  readonly problems: readonly string[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The tf.data input pipelines of the chosen hosts. */
export interface DataPipelines {
  /** Whether a call took longer than 50 us. */
  readonly input_bound: boolean;
  /** That in sentences, or that there are none. */
  readonly message: string;
  /** One row per pipeline, host after host. */
  readonly pipelines: TableData;
  /** Number of the quickest ones that have no row. */
  readonly pipelines_left_out: number;
  /** Each once, of the slowest pipeline first. */
  readonly advice: readonly PipelineAdvice[];
  /** Sentences about damage. */
  readonly problems: readonly string[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** A device whose time is decomposed. */
export interface DecomposedDevice {
  readonly name: string;
  readonly host: string;
  /** "tpu", "gpu", "cpu" or "host". */
  readonly kind: string;
  /** Number of steps in which it takes part. */
  readonly steps: number;
}

/** All steps, with an entry per step; times are picoseconds, averaged over the devices that take part. */
export interface DecomposedSteps {
  /** Names, or numbers of steps without one. */
  readonly name: readonly string[];
  readonly number: readonly number[];
  readonly duration_ps: readonly number[];
  /** By id of the part, without parts that are 0 throughout. */
  readonly parts_ps: Readonly<Record<string, readonly number[]>>;
  /** Number of devices that take part. */
  readonly devices: readonly number[];
  /** Position of the device with the longest step. */
  readonly slowest: readonly number[];
  /** Begin of that step, on the time axis of its host. */
  readonly begin_ps: readonly number[];
  /** End of that step. */
  readonly end_ps: readonly number[];
}

/** The time budget of the average step and of each step; times are picoseconds, averaged over devices. */
export interface Decomposition {
  /** What every share is of: "step", "time from step to step" or "recording". */
  readonly base: string;
  /** Its length on average. */
  readonly base_ps: number;
  /** The average step. */
  readonly step_ps: number;
  /** Where the steps come from: "device", "host", "inferred", "dispatch" or "recording"; "" without steps. */
  readonly source: string;
  /** Number of marked steps that are not among `steps` because the recording may have cut them. */
  readonly left_out: number;
  /** The categories in the order of display; the last is the time between steps. */
  readonly groups: readonly BudgetCategory[];
  /**
   * The average step by id of the part, and the time between steps; without those that are 0. They add up to `base_ps`,
   * without `not_recorded`.
   */
  readonly average_ps: Readonly<Record<string, number>>;
  readonly steps: DecomposedSteps;
  readonly devices: readonly DecomposedDevice[];
}

/** The devices of a host, and the main memory of one of them. */
export interface DeviceMemory {
  /** Kind of device. */
  readonly hardware: "CPU_ONLY" | "GPU" | "TPU" | "UNKNOWN_HARDWARE";
  /** E.g. "TPU v6 Lite"; "" if unknown. */
  readonly model: string;
  /** Its memory; 0 if unknown, and for CPUs, whose programs share the host's memory. */
  readonly bytes: number;
  /**
   * "allocator": size of the smallest allocator of a device; "device": size reported by the device; "model": specification
   * of the product, of which the runtime reserves a part; "" if unknown.
   */
  readonly source: string;
}

/** A time of both runs in whole ps per step; null if a side has no steps. */
export interface Difference {
  readonly base: number | null;
  readonly run: number | null;
  /** Run minus base. */
  readonly delta: number | null;
  /** Lower end of the interval of `delta`; null with too few steps. */
  readonly low: number | null;
  /** Upper end. */
  readonly high: number | null;
}

/** One dimension of a tensor: its size in elements, the multiple it is padded to, and what it means. */
export interface Dimension {
  readonly size: number;
  readonly alignment: number;
  readonly semantics: string;
}

/** Shares in percent; None when peaks, costs or time are unknown. */
export interface Efficiency {
  /** FLOPs per second relative to the peak of the matrix units; on TPUs their use at least. */
  readonly peak_flops_percent: number | null;
  /** FLOPs per second relative to the roofline at the program's FLOPs per byte. */
  readonly flop_rate_percent: number | null;
  /** Bytes per second relative to peak HBM bandwidth. */
  readonly memory_bw_percent: number | null;
  /** Time that all ops would take at peak rates relative to the measured time. */
  readonly goodput_percent: number | null;
  /** The measured time, that of the "steps" or of the whole "profile". */
  readonly over: string;
}

/** Evidence for inferred steps. */
export interface Evidence {
  /** "step number" (marks, see `numbered`), "device program", "device kernel", "host event" or "named event". */
  readonly source: string;
  /** The repeating event. */
  readonly event: string;
  /** The line that has it. */
  readonly line: string;
  /** The plane of the line. */
  readonly plane: string;
  /** Number of repetitions. */
  readonly occurrences: number;
  /** Mean distance between begins. */
  readonly period_ms: number;
  /** Relative variation of the distance (0: regular; None: unknown). */
  readonly variation: number | null;
  /** Share of the recorded time from the first begin to the last end, 0 to 1. */
  readonly coverage: number;
}

/** A cause of lost time or memory. */
export interface Finding {
  /** Of the rule; stable. */
  readonly id: string;
  readonly title: string;
  /** The saving as a fraction of the base; 0 for findings that are not about time. */
  readonly share: number;
  /** At most the sum of the segments. */
  readonly saving_ps_per_step: number;
  readonly segments: readonly FindingSegment[];
  /** How the saving was computed. */
  readonly formula: string;
  readonly confidence: "high" | "medium" | "low";
  readonly evidence: readonly Proof[];
  readonly advice: string;
  /** The hosts concerned. */
  readonly hosts: readonly string[];
  /** The rule's documentation, a paragraph a line. */
  readonly help: string;
}

/** A category or part of the average step that a saving lies in. */
export interface FindingSegment {
  readonly id: string;
  readonly name: string;
  readonly ps: number;
  /** Of the base. */
  readonly percent: number | null;
}

/** Ops of TensorFlow, JAX or PyTorch on devices and hosts. */
export interface FrameworkOpStats {
  /** One row per op, device first, most self time first; idle time is a row, and shares are of all time. */
  readonly with_idle: TableData;
  /** As above without idle time; shares are of the time in which ops ran. */
  readonly without_idle: TableData;
  /** What the program does. */
  readonly task: "Training" | "Inference";
  /** Why rows of PyTorch's ops cannot be grouped by shapes; empty if they can, and for other frameworks. */
  readonly inputs_note: string;
  readonly notes: OpNotes;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** An open computation, with the instruction that calls it. */
export interface GraphBox {
  /** Number of the box. */
  readonly id: number;
  /** The box around it; null for none. */
  readonly parent: number | null;
  /** Row of the instruction. */
  readonly caller: number;
  /** It is the body of a fusion. */
  readonly fusion: boolean;
  /** The drawing is about the instruction. */
  readonly center: boolean;
  readonly name: string;
  readonly opcode: string;
  readonly shape: string;
  /** The framework op; "" if unknown. */
  readonly op_name: string;
  /** `file:line` in the program's source; "" if unknown. */
  readonly source: string;
  /** The calls that led there, innermost first. */
  readonly stack: readonly string[];
  /** The HLO text of the instruction. */
  readonly text: string;
  /** The one that is open. */
  readonly computation: string;
  /** Of the left edge. */
  readonly x: number;
  /** Of the upper edge. */
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An edge between nodes. */
export interface GraphEdge {
  /** `id` of the operand. */
  readonly source: number;
  /** `id` of its user; -1 for the tag of the result. */
  readonly target: number;
  /** Number of the operand. */
  readonly operand: number;
  /** "data", "control", "call" or "root". */
  readonly kind: string;
  /** Of its line, x and y. */
  readonly points: readonly (readonly [number, number])[];
}

/** An instruction drawn as a node. */
export interface GraphNode {
  /** Row of the program. */
  readonly id: number;
  /** Kind of work, which determines the colour. */
  readonly group: string;
  /** Computations that it calls. */
  readonly calls: readonly string[];
  /** What simple computations that it calls do, e.g. "add". */
  readonly applies: readonly string[];
  /** It is the result of its computation. */
  readonly root: boolean;
  /** Hops from the center. */
  readonly distance: number;
  /** Row of the instruction that is open around it; null for none. */
  readonly parent: number | null;
  /** Its box; null for none. */
  readonly box: number | null;
  /** Why it is drawn as it is. */
  readonly mark: string;
  /** Some neighbours are not shown. */
  readonly boundary: boolean;
  /** Operands that are written into it. */
  readonly inline: readonly InlineOperand[];
  readonly name: string;
  readonly opcode: string;
  readonly shape: string;
  /** The framework op; "" if unknown. */
  readonly op_name: string;
  /** `file:line` in the program's source; "" if unknown. */
  readonly source: string;
  /** The calls that led there, innermost first. */
  readonly stack: readonly string[];
  /** The HLO text of the instruction. */
  readonly text: string;
  /** The one that contains it. */
  readonly computation: string;
  /** Of the left edge. */
  readonly x: number;
  /** Of the upper edge. */
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A page of documentation. */
export interface GuideLink {
  readonly title: string;
  readonly address: string;
}

/** The use of hosts and devices. */
export interface HardwareUse {
  /** Of the peak of the matrix units, by hardware counters; null without them, as is `hbm_percent`, the share of the peak bandwidth. */
  readonly matrix_units_percent: number | null;
  readonly hbm_percent: number | null;
  /** Union of the ops of a chip, without those that only wait, of the recorded time; null for GPUs and without devices. */
  readonly duty_cycle_percent: number | null;
  /** Share of the occurrences of framework ops, the rest is `ops_on_device_percent`. */
  readonly ops_on_host_percent: number;
  readonly ops_on_device_percent: number;
  /** Share of the op time on the host in ops that are executed eagerly. */
  readonly eager_on_host_percent: number;
  /** The same on the device. */
  readonly eager_on_device_percent: number;
  /** Null without SparseCores. */
  readonly sparse_cores: SparseCoreTimes | null;
}

/** The headline. */
export interface Headline {
  /** One line. */
  readonly title: string;
  /** "good": healthy; "fair", "bad": time is lost; "none": no verdict, or busy and nothing speaks against it. */
  readonly tone: "good" | "fair" | "bad" | "none";
  /** Id of the rule whose finding it is; None if it is about the parts of the step. */
  readonly finding: string | null;
}

/** A drawing of a computation, or of what is around an instruction; ids are rows of the program. */
export interface HloGraph {
  /** `name(program id)`. */
  readonly module: string;
  /** The one that is drawn. */
  readonly computation: string;
  /** It is the entry computation. */
  readonly is_entry: boolean;
  /** The instruction that the drawing is about; null for a computation. */
  readonly center: string | null;
  /** Nodes that are not drawn because there are too many. */
  readonly omitted: number;
  /** In pixels. */
  readonly width: number;
  /** In pixels. */
  readonly height: number;
  /** The tag of the result; null if it is not shown. */
  readonly root: PlacedRect | null;
  readonly nodes: readonly GraphNode[];
  /** Open computations, outer ones before what is in them. */
  readonly boxes: readonly GraphBox[];
  readonly edges: readonly GraphEdge[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** XLA ops. */
export interface HloStats {
  /** One row per op, most self time first; the ops that SparseCores ran for an op follow it, with rank 0. */
  readonly ops: TableData;
  readonly notes: OpNotes;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The distinct call stacks of a host's threads with Python frames, callers before what they call. */
export interface HostPythonStacks {
  readonly host: string;
  /** Of frames; Python's begin with `$`. */
  readonly names: readonly string[];
  /** Position of each stack's innermost frame in `names`. */
  readonly name: readonly number[];
  /** Position of the caller's stack; -1 for threads. */
  readonly parent: readonly number[];
  /** Time without the frames called, over all runs. */
  readonly self_ps: readonly number[];
}

/** Step times by host, means over the devices that take part. */
export interface HostTimes {
  /** The average step. */
  readonly step_ms: Readonly<Record<string, number>>;
  /** Number of steps in which the host was the slowest; of more than 64 hosts, only of those that were. */
  readonly slowest_in: Readonly<Record<string, number>>;
  readonly median_ms: number;
  /** By how much of it the average step exceeds the median of the other hosts; empty for one host. */
  readonly over_others: Readonly<Record<string, number>>;
  /** Hosts for which that is more than 0.1. */
  readonly stragglers: readonly string[];
}

/** The collectives of a host in parts. */
export interface HostTransfers {
  readonly host: string;
  /** Of the rendezvous. */
  readonly names: readonly string[];
  readonly parts: CollectiveParts;
  /** Positions of the parts where each flow between them begins, and where it ends. */
  readonly flows: readonly [readonly number[], readonly number[]];
}

/** Code of a host that idle time is attributed to. */
export interface IdleCause {
  readonly name: string;
  /** Its innermost event that covers the idle time. */
  readonly inner: string;
  readonly host: string;
  /** Per step and device. */
  readonly time_ps: number;
  /** Of what the decomposition divides; null if that is 0. */
  readonly percent: number | null;
}

/** Requests and batches of each model that a host serves; times are milliseconds. */
export interface InferenceProfile {
  readonly models: readonly ServedModel[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Steps of a recording without markers, or of the named event, on the first host that has any. */
export interface InferredTimes {
  readonly host: string;
  readonly evidence: Evidence;
  readonly table: TableData;
  /** Of the step time in ms. */
  readonly statistics: Statistics;
}

/** An operand that is written into a node. */
export interface InlineOperand {
  /** Its number. */
  readonly operand: number;
  /** Row of the program. */
  readonly id: number;
  /** Its shape and value, or where it comes from. */
  readonly text: string;
}

/** How long steps wait for input, and what the host does to prepare it. */
export interface InputPipeline {
  readonly steps: StepReading;
  readonly ops: TableData;
  /** Self times of the input ops by kind, scaled to the time outside enqueuing. */
  readonly processing: readonly InputProcessing[];
  readonly messages: readonly Message[];
  /** What to do about the input, with links as in Markdown; "" if it takes little time. */
  readonly next: string;
  /** Why a profile without input ops has none. */
  readonly no_ops: string;
  /** Null in our reading. */
  readonly xprof: XprofReading | null;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** A kind of input processing of the host. */
export interface InputProcessing {
  /** "other", "demanded", "advanced", "preprocessing" or "enqueue". */
  readonly kind: string;
  readonly name: string;
  readonly help: string;
  readonly us: number;
  /** What may make it faster, with links as in Markdown. */
  readonly tip: string;
}

/** Classification of the time waiting for input. */
export interface InputVerdict {
  /** "unknown" (no steps), "host", "both" or "device". */
  readonly bottleneck: string;
  /** "", "HIGHLY", "MODERATELY", "POTENTIALLY" or "NOT". */
  readonly level: string;
  /** The share of the step time that determined the class. */
  readonly percent: number;
}

/** Executions of iterators, an entry of each member per span; times are on the axis of the trace viewer. */
export interface IteratorSpans {
  /** Position among the iterators. */
  readonly iterator: readonly number[];
  /** Position among the threads. */
  readonly thread: readonly number[];
  readonly begin_ps: readonly number[];
  readonly duration_ps: readonly number[];
  /** Whether the consumer waited. */
  readonly blocking: readonly boolean[];
  /** Number of executions that are one span because they are short. */
  readonly count: readonly number[];
}

/** A thread that iterators ran on; ids as in the trace viewer. */
export interface IteratorThread {
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
}

/** GPU kernels. */
export interface KernelStats {
  /**
   * One row per kernel, launch configuration and op, longest total duration first; registers and occupancy are null where
   * the launch was recorded without them.
   */
  readonly kernels: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The units of TPUs in percent of their peaks. */
export interface KernelUtilization {
  /**
   * One row per line of counters. Columns `precision_NAME`: cycles of the matrix units by type of operand; `unit_NAME`:
   * other units, null for those that a kernel lacks.
   */
  readonly kernels: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The largest part of the average step that tells a cause. */
export interface LargestPart {
  readonly category: string;
  readonly percent: number;
}

/** A device that the others wait for. */
export interface LateDevice {
  readonly device: string;
  readonly host: string;
  /** Its share of all waits. */
  readonly caused_percent: number;
  /** Its work over the median of all devices; null if that is 0. */
  readonly work_ratio: number | null;
  /** It has clearly more work than the others. */
  readonly more_work: boolean;
  /** How far its work is from the median; null without clearly more work. */
  readonly modified_z: number | null;
  /** The others' time in collectives over its own; null as above. */
  readonly waits_ratio: number | null;
}

/** The mean request, or the request at a percentile, which `label` says. */
export interface Latency {
  readonly label: string;
  /** Time in neither the device nor transfers. */
  readonly host_ms: number;
  /** Time in which the device runs the program. */
  readonly device_ms: number;
  /** Transfers between host and device. */
  readonly communication_ms: number;
  readonly total_ms: number;
}

/** Numbers of requests between edges of equal distance. */
export interface LatencyHistogram {
  readonly edges_ms: readonly number[];
  readonly counts: readonly number[];
}

/** Memory of buffers that a source line makes. */
export interface LineMemory {
  /** "" of other lines together, and of buffers without a location. */
  readonly file: string;
  readonly function: string;
  /** Null likewise. */
  readonly line: number | null;
  /** Short form. */
  readonly label: string;
  /** One per shown instant. */
  readonly bytes: readonly number[];
}

/** A part of the run that was left out or damaged. */
export interface Loss {
  readonly file: string | null;
  readonly code: string;
  readonly message: string;
  /** Of the byte at which the damage begins; null if unknown. */
  readonly offset: number | null;
  /** What to do about it; "" if the message says so. */
  readonly remedy: string;
}

/** Collectives between slices. */
export interface Megascale {
  /** One row per rendezvous, by its first run; times are averages over the runs, in whole us. */
  readonly collectives: TableData;
  /** With `timeline=true`. */
  readonly timeline: TransferTimeline | null;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Memory of a kind, or of a region, op or step. */
export interface MemoryPart {
  readonly name: string;
  /** One per shown instant. */
  readonly bytes: readonly number[];
}

/** Memory of a host's allocators over time; times are whole picoseconds of the recording. */
export interface MemoryProfile {
  /** By name; empty if `modules` are asked for. */
  readonly memories: readonly AllocatorMemory[];
  /** The host has TPUs, which run compiled programs. */
  readonly has_modules: boolean;
  /** These runs; empty unless they are asked for. */
  readonly modules: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** A message of the profiler, or about the recording as a whole. */
export interface Message {
  readonly severity: "error" | "warning";
  readonly text: string;
}

/** A node of the tree of ops: sums over all runs and cores, and of ops what they are (of duplicates, the longest). */
export interface OpNode {
  /** Of a program with its id; of duplicates, that of the longest. */
  readonly name: string;
  /**
   * "group": a program, scope or category; "duplicates": ops with one deduplicated name; "part": an instruction in a fusion,
   * which is not timed by itself.
   */
  readonly kind: "root" | "group" | "duplicates" | "op" | "part" | "idle";
  /** Of an op that contains others, its self time. */
  readonly time_ps: number;
  /** Time, scaled to the nominal clock; 0 where clocks are not scaled (GPU). */
  readonly normalized_ps: number;
  /** As bf16 equivalents, weighted by the speed of the hardware for their data type. */
  readonly flops: number;
  /** As the program has them. */
  readonly model_flops: number;
  /** Of HBM, of on-chip reads and of on-chip writes. */
  readonly bytes: readonly [number, number, number];
  /** 0 for nodes above categories. */
  readonly runs: number;
  /** Share of the peak FLOP rate while the node runs, not capped; null if the peak, the time, or both FLOPs and bytes are unknown. */
  readonly flops_use: number | null;
  /** Shares of the peak bandwidths while the node runs, in the order of `bytes`, not capped. */
  readonly memory_use: readonly [number | null, number | null, number | null];
  readonly category: string;
  /** "" if unknown. */
  readonly program_id: string;
  readonly framework_op: string;
  readonly expression: string;
  readonly source_file: string;
  /** -1 if the HLO program has none. */
  readonly source_line: number;
  readonly source_stack: string;
  /** The op that has this source, if this op has none of its own. */
  readonly source_of: string;
  /** Dimensions of a convolution's result on TPUs, minor to major. */
  readonly layout: readonly Dimension[];
  /** Share of the padded result that holds data; null without a layout. */
  readonly layout_use: number | null;
  /** It contains other ops, which have nodes of their own. */
  readonly contains: boolean;
  /** Number of children; below categories only the longest are listed. */
  readonly count: number;
  /** Longest first, then those that contain others; parts by FLOPs. */
  readonly children: readonly OpNode[];
}

/** About the ops of a page. */
export interface OpNotes {
  /** They ran on the CPU itself. */
  readonly on_cpu: boolean;
  /** Number of device cores over which times add up; null without a device. */
  readonly cores: number | null;
  /** Fraction of GPU time that belongs to no op and is left out; null if unknown. */
  readonly unattributed_share: number | null;
  /** What to record, if kernels belong to graphs without ops; else empty. */
  readonly graphs: string;
  readonly limits: RateLimits;
}

/** Device time as a tree of ops. */
export interface OpProfile {
  /** "TPU", "GPU", "CPU_ONLY" or "UNKNOWN_HARDWARE". */
  readonly device: string;
  /** Recorded time of the devices, idle time included. */
  readonly total_ps: number;
  /** Ratio of the ops' time at the nominal clock to their time; 0 without ops. */
  readonly time_scale: number;
  /** The tree of all ops, without idle time. */
  readonly ops: OpNode;
  /** Ops that count as idle time, and the time without any op. */
  readonly idle: readonly OpNode[];
  readonly notes: OpNotes;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The run at a glance. */
export interface Overview {
  readonly steps: StepReading;
  /** "TPU", "GPU", "CPU_ONLY", or "UNKNOWN". */
  readonly hardware: string;
  readonly environment: RunEnvironment;
  readonly utilization: HardwareUse;
  readonly efficiency: Efficiency;
  /** Null without computation on a device. */
  readonly precision: Precision | null;
  /** The device ops with most self time. */
  readonly ops: TableData;
  /** Null without requests, and of training. */
  readonly requests: RequestLatency | null;
  /** Null if steps are marked or none can be inferred. */
  readonly inferred: InferredTimes | null;
  /** Names of those that wrote the profile. */
  readonly frameworks: readonly string[];
  /** The CPU ran XLA ops. */
  readonly cpu_ops: boolean;
  /** Tf.functions that were called. */
  readonly functions: readonly TfFunction[];
  readonly messages: readonly Message[];
  /** Null in our reading. */
  readonly xprof: XprofReading | null;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Requests or batches of a model: single ones by percentile, and averages. */
export interface Percentiles {
  /** The single ones in order of their percentile, the average of each batch size, and last the average of all. */
  readonly rows: TableData;
  /** Of the single ones in the first rows: the share of those before in the chosen order, 0 to 100. */
  readonly percentiles: readonly number[];
  /** Number of all. */
  readonly count: number;
  /** Number of all divided by the time from the first begin to the last end. */
  readonly per_second: number;
  /** Mean over all. */
  readonly latency_ms: number;
}

/** Recorded values of performance counters. */
export interface PerfCounters {
  /** One row per event with a value, host after host. */
  readonly counters: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Suggestions for the bottlenecks of slow pipelines. */
export interface PipelineAdvice {
  /** Class of iterators with the same rule. */
  readonly kind: string;
  /** In order, code in backticks. */
  readonly steps: readonly string[];
  readonly links: readonly GuideLink[];
  /** Rows of the table of pipelines, slowest first. */
  readonly pipelines: readonly number[];
}

/** An iterator in a run of a pipeline. */
export interface PipelineIterator {
  /** Of 64 bits. */
  readonly id: string;
  /** Id of the iterator that consumes its elements; "" for the root. */
  readonly parent: string;
  /** Its kind. */
  readonly name: string;
  /** Kinds of the iterator and of all its consumers, the root first. */
  readonly long_name: string;
  /** Its name in the program's graph; "" for none. */
  readonly dataset: string;
  /** First execution. */
  readonly begin_ps: number;
  /** Sum over its executions. */
  readonly duration_ps: number;
  /** Without the iterators that it called; negative if several of them ran at once. */
  readonly self_ps: number;
  /** Number of executions. */
  readonly calls: number;
  /** 2 the bottleneck, 1 else on the critical path, 0 not on it. */
  readonly role: 0 | 1 | 2;
  /** As recorded with its first call in the run. */
  readonly settings: Readonly<Record<string, number | boolean>>;
}

/** Upper left corner and size, in pixels. */
export interface PlacedRect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The time of every worker in every step. */
export interface Pod {
  readonly steps: PodSteps;
  /** The categories with their parts, in the order of display. */
  readonly groups: readonly BudgetCategory[];
  /** Sentences on where the steps come from, or why there are none. */
  readonly notes: readonly string[];
  /** E.g. "TPU v4". */
  readonly device_type: string;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The steps of the time budget with a column per device, for pods of hundreds of hosts. */
export interface PodSteps {
  readonly numbers: readonly number[];
  /** Names, or numbers of steps without one. */
  readonly names: readonly string[];
  /** Number of marked steps that are not among these because the recording may have cut them. */
  readonly left_out: number;
  /** By column. */
  readonly hosts: readonly string[];
  /** Names of the devices by column, with their host if there are several. */
  readonly labels: readonly string[];
  /** [step][column], on the time axis of the column's host; null in XProf's reading. */
  readonly begin_ps: readonly number[][] | null;
  /** [step][column]; null if all devices take part in all steps. */
  readonly takes_part: readonly boolean[][] | null;
  /** [step][column]. */
  readonly total_ns: readonly number[][];
  /**
   * By id of the part [step][column], without parts that are 0 throughout. The parts of a column add up to its step, to the
   * nanosecond, but for XProf's.
   */
  readonly parts_ns: Readonly<Record<string, readonly number[][]>>;
}

/** Shares of the device's compute time on floating-point data of at most 16 bits, and of more. */
export interface Precision {
  readonly narrow_percent: number;
  readonly wide_percent: number;
}

/** Memory of a compiled program in a memory space of a device; sizes are bytes. */
export interface ProgramMemory {
  /** `name(program id)`. */
  readonly module: string;
  /** Of the host; its memory is that of one device. */
  readonly device: DeviceMemory;
  /** Numbers of the memory spaces in which the program has buffers. */
  readonly spaces: readonly number[];
  /** The devices of the host ran other programs. */
  readonly did_not_run: boolean;
  /** Why the memory of the program with most time is unknown, and how to record it; "" if it is known. */
  readonly unknown_memory: string;
  /** The most in use. */
  readonly peak_bytes: number;
  /** The same without padding of temporaries. */
  readonly peak_unpadded_bytes: number;
  /** The event after which most is in use, from 0; null without heap simulation. */
  readonly peak_event: number | null;
  /** Arguments. */
  readonly parameter_bytes: number;
  /** Allocations that may be results; donated arguments are counted here too. */
  readonly output_bytes: number;
  /** Thread-local buffers and tuples. */
  readonly not_reusable_bytes: number;
  /** All allocations that are not thread-local. */
  readonly total_bytes: number;
  /** In use during the whole run. */
  readonly indefinite_bytes: number;
  /** The most that one instruction uses as scratch while it runs; of the vector memory only. */
  readonly scoped_bytes: number;
  /** Its name. */
  readonly scoped_instruction: string;
  /** Memory before each event of the heap simulation, and after the last; empty without one. */
  readonly heap: TableData;
  /** At the peak, in program order; those below 16 KiB are the last row, without `buffer_id`. */
  readonly buffers: TableData;
  /** Temporary allocations, each followed by the buffers in it, stacked by offset. */
  readonly blocks: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Memory of a program at each instant, what lives at one, and how it grows with the batch; sizes are bytes. */
export interface ProgramMemoryOverTime {
  /** `module(program id)`. */
  readonly program: string;
  /** The first that has it. */
  readonly host: string;
  /** Memory of a device; 0 if unknown. */
  readonly device_bytes: number;
  /** Number of events of the heap simulation. */
  readonly instants: number;
  /** The first instant with most. */
  readonly peak: number;
  /** Memory at the peak, as in the memory viewer. */
  readonly peak_bytes: number;
  /** Instants of the series, with the highest of each stretch. */
  readonly shown: readonly number[];
  /** Instruction before each shown instant. */
  readonly names: readonly string[];
  /** One per shown instant. */
  readonly heap: readonly number[];
  /** Parts of the heap by kind; they add up to it. */
  readonly categories: readonly MemoryPart[];
  /** Parts of the heap by source line; they add up to it. */
  readonly lines: readonly LineMemory[];
  /** The one whose buffers are listed. */
  readonly instant: number;
  /** All buffers that live at it. */
  readonly live_bytes: number;
  /** The largest of these. */
  readonly live: TableData;
  /** Size of the batch; 0 if unknown. */
  readonly batch: number;
  /** `[fixed, scaled, above]`: the peak at k times the batch is the largest fixed + k * scaled of those with k > above. */
  readonly corners: readonly (readonly [number, number, number])[];
  /** What programs compiled anew needed at least and at most, as factors of the prediction. */
  readonly recompiled: readonly [number, number];
  /** The largest buffers of the program, with what is assumed of them. */
  readonly assumed: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The memory peak of a program. */
export interface ProgramPeakSize {
  readonly name: string;
  readonly peak_bytes: number;
}

/** A number or text that shows a finding. */
export interface Proof {
  readonly label: string;
  readonly value: number | string;
  readonly unit: string;
  /** Id of the page that shows the value; "" without one. */
  readonly tool: string;
  /** Keys of that page's address: `host`, `window` as `FROM,TO` in ps on the host's time axis, `find`, `filter`. */
  readonly query: Readonly<Record<string, string>>;
  /** The HLO text of the op that it is about, else the op's recorded name; null without one. */
  readonly op: string | null;
  /** Of the line of code of its op, else of the one that the value names; null without one. */
  readonly file: string | null;
  /** Null without one. */
  readonly line: number | null;
}

/** Time of host threads by Python call stack. */
export interface PythonStacks {
  /** Those with Python frames. */
  readonly hosts: readonly HostPythonStacks[];
  /** Why there are none; null if there are some. */
  readonly reason: string | null;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Rates that no op can exceed, per core of a device or of a CPU with all its threads; null if unknown. */
export interface RateLimits {
  readonly gflops_per_s: number | null;
  /** Of the main memory of the device. */
  readonly hbm_gib_per_s: number | null;
  /** Of all memories together. */
  readonly memory_gib_per_s: number | null;
  /** In words, such as "the peak of the device". */
  readonly what: string;
}

/** The part of a recording that steps cover, on the host where they cover least. */
export interface RecordingCover {
  readonly host: string;
  readonly length_ms: number;
  readonly steps_ms: number;
  readonly before_ms: number;
  readonly after_ms: number;
}

/** The step with the changes. */
export interface ReplayedStep {
  readonly parts: StepParts;
  /** Of the interval of its length, as is `high_ps`; all three are equal but where devices share a CPU. */
  readonly low_ps: number;
  readonly high_ps: number;
  /** "high", "medium" or "low": how far the recording tells. */
  readonly confidence: "high" | "medium" | "low";
  /** What it lacks, as sentences. */
  readonly reasons: readonly string[];
  /** The largest parts of the chain that determines how long the step takes, most time first. */
  readonly limits: TableData;
}

/** The latency of requests. */
export interface RequestLatency {
  /** Their number. */
  readonly requests: number;
  /** The mean first. */
  readonly percentiles: readonly Latency[];
  readonly histogram: LatencyHistogram;
}

/** A memory of the device that limits rates. */
export interface RoofMemory {
  /** Prefix of its columns. */
  readonly id: string;
  readonly name: string;
  /** Per core. */
  readonly peak_gib_per_s: number;
  /** Intensity above which compute is the limit. */
  readonly ridge_flops_per_byte: number;
}

/** Rates of the program, its steps and its ops beside the peaks of the device. */
export interface RooflineModel {
  /**
   * The program (step Total), its ops, the average step and each step, with infeed and outfeed, then without; null where a
   * figure depends on an unknown peak or a memory that the device lacks.
   */
  readonly rows: TableData;
  /** Empty if unknown. */
  readonly device_type: string;
  /** Per core, for the fastest data type; null if unknown. */
  readonly peak_gflops_per_s: number | null;
  /** Those with a known peak, if that of compute is known. */
  readonly memories: readonly RoofMemory[];
  /** Two cores of a TPU work as one; null on GPUs, as are the next two. */
  readonly megacore: boolean | null;
  readonly has_cmem: boolean | null;
  readonly has_merged_vmem: boolean | null;
  readonly messages: readonly Message[];
  readonly notes: OpNotes;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Where and when the run was recorded. */
export interface RunEnvironment {
  /** Number of hosts whose profiles were read. */
  readonly hosts: number;
  /** Number of processes that ran the program. */
  readonly tasks: number;
  /** E.g. "TPU v4"; "CPU" without a device, "not recorded" as below. */
  readonly device_type: string;
  /** False if the host ran programs on devices of which nothing was recorded. */
  readonly devices_recorded: boolean;
  /** Number of TensorCores or GPUs. */
  readonly device_cores: number;
  /** An HLO module of the profile computes gradients. */
  readonly is_training: boolean;
  /** Ms since 1970; null if unknown, as is `duration_ms`. */
  readonly begin_ms: number | null;
  readonly duration_ms: number | null;
}

/** Causes of a slow run; times are whole picoseconds. */
export interface RunFindings {
  /**
   * What limits the run, in one line; `tone` is "good" (healthy), "fair", "bad" or "none" (no verdict, or busy), `finding`
   * the id of the finding that it repeats.
   */
  readonly headline: Headline;
  /** Most costly first; general ones follow those of at least a tenth that name a cause. */
  readonly findings: readonly Finding[];
  /** The other rules, and why they found nothing. */
  readonly silent: readonly Check[];
  /** What every share is of: "step", "time from step to step" or "recording". */
  readonly base: string;
  /** Its length on average. */
  readonly base_ps: number;
  /** The average step. */
  readonly step_ps: number;
  /** Number of steps. */
  readonly steps: number;
  /** Number of marked steps that are not among them because the recording may have cut them. */
  readonly steps_left_out: number;
  /** Sentences about the steps, as on the overview. */
  readonly notes: readonly string[];
  /** The time budget by category, in the order of display, without empty ones; the time between steps is one. */
  readonly groups: readonly TimeCategory[];
  /**
   * Neither a finding nor any part but computation takes a tenth of the time, the steps are marked, alike and cover the
   * recording, and the devices' peak rates are used well.
   */
  readonly healthy: boolean;
  readonly problems: readonly Loss[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** Requests and batches of a model. */
export interface ServedModel {
  /** "ALL" if requests name no model. */
  readonly name: string;
  readonly requests: Percentiles;
  /** Null if no model of the host has any. */
  readonly batches: Percentiles | null;
  /** Of the server's batching; null if the profile lacks them. */
  readonly parameters: BatchingParameters | null;
}

/** Cost by source line of the chosen hosts; without ops the tables are empty. */
export interface Source {
  /** One row per source line, most self time first; what has no location is the last row. */
  readonly lines: TableData;
  /** One row per op, most self time first; `line` and `stack` are positions in `lines` and `stacks`. */
  readonly ops: TableData;
  /** What the program holds at its peak, the largest first, with `line` and `stack` as ops. */
  readonly buffers: TableData;
  /** Calls. */
  readonly frames: TableData;
  /** Positions of frames, innermost call first; empty without location. */
  readonly stacks: readonly (readonly number[])[];
  /** Null if no program has buffers. */
  readonly memory: SourceMemory | null;
  /** Where the ops ran. */
  readonly place: "device" | "cpu" | "framework device" | "framework host";
  /** Observed time, idle time included. */
  readonly total_ps: number;
  /** Number of device cores that times add up over; 0 if unknown. */
  readonly cores: number;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The program whose memory is shown by line. */
export interface SourceMemory {
  /** `name(program id)`. */
  readonly program: string;
  /** The first that has it. */
  readonly host: string;
  readonly peak_bytes: number;
  /** Those to choose from, the largest peak first, 200 at most. */
  readonly programs: readonly ProgramPeakSize[];
}

/** Times of a step on the SparseCores, means over cores and steps. */
export interface SparseCoreTimes {
  readonly step_ms: number;
  readonly input_ms: number;
  readonly output_ms: number;
  readonly idle_ms: number;
}

/** Statistics of a series in any unit; `deviation` is the sample standard deviation (n - 1). All 0 if empty. */
export interface Statistics {
  readonly average: number;
  readonly deviation: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly count: number;
}

/** A step by its parts; times are picoseconds. */
export interface StepParts {
  /** With the time until the next step where the time budget counts that. */
  readonly length_ps: number;
  /** Median of the steps, averaged over the devices that take part; null if nothing is replayed. */
  readonly median_ps: number | null;
  /** `length_ps` without what was not recorded. */
  readonly base_ps: number;
  /** By id of the part; without those that are 0. */
  readonly average_ps: Readonly<Record<string, number>>;
}

/** The steps of a run. */
export interface StepReading {
  readonly decomposition: Decomposition;
  /**
   * The verdict on input, by XProf's thresholds on shares of the decomposition; what may be input is idle time that nothing
   * explains.
   */
  readonly input: InputVerdict;
  readonly hosts: HostTimes;
  /** Null without marked steps. */
  readonly recording: RecordingCover | null;
  /** Sentences on where the steps come from, exceptions among them, and what they leave out. */
  readonly notes: readonly string[];
}

/** The average step without some of what it does; times are picoseconds. */
export interface StepWhatIf {
  /** What shares are of: "step", "time from step to step" or "recording". */
  readonly base: string;
  /** The categories of the parts, in the order of display. */
  readonly groups: readonly BudgetCategory[];
  /** The step as recorded. */
  readonly before: StepParts;
  /** To replay the recording takes seconds, which a page does when it is asked to. */
  readonly large: boolean;
  /** The step with all changes; null if it cannot be told, or nothing is replayed. */
  readonly after: ReplayedStep | null;
  /** Why it cannot be told; "" if it can. */
  readonly cannot: string;
  /** How to record what would tell. */
  readonly remedy: string;
  /** Places that are left out of the changes. */
  readonly unknown: readonly UnknownPlace[];
  /** Changes worth a try, findings first; empty if nothing is replayed. */
  readonly tried: readonly TriedChange[];
  /** Sentences. */
  readonly notes: readonly string[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** One function: calls, self time (without functions it calls), and the part of it in expensive calls. */
export interface TfFunction {
  readonly name: string;
  readonly calls: number;
  readonly self_ps: number;
  readonly expensive_ps: number;
}

/** The parts of every step on every device; all times are whole picoseconds. */
export interface TimeBudget {
  readonly steps: BudgetSteps;
  readonly devices: readonly BudgetDevice[];
  /** Ids of the parts. */
  readonly categories: readonly string[];
  /** [step][device][category]; the parts of a device add up to its step. */
  readonly time_ps: readonly number[][][];
  /**
   * By device and category the mean over the steps in which the device takes part; percentages are of the time from step to
   * step if the recording has time between steps, else of the step. `between_steps` is the last category of each device, and
   * `all` the last device: the mean.
   */
  readonly average: TableData;
  readonly between: BetweenSteps;
  /** Host code behind idle time, most time first. */
  readonly causes: readonly IdleCause[];
  /** [step][device]: the device works in the step; averages leave out the others. */
  readonly takes_part: readonly boolean[][];
  /** The same by category of the user documents. */
  readonly decomposition: Decomposition;
  /** Null below 5 percent. */
  readonly largest: LargestPart | null;
  /** Sentences. */
  readonly notes: readonly string[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** A category of the average step with its parts. */
export interface TimeCategory {
  readonly parts: readonly TimePart[];
  readonly id: string;
  readonly name: string;
  readonly help: string;
  readonly ps: number;
  /** Of the base, 0 to 1. */
  readonly share: number | null;
}

/** A category of the average step, or a part of one. */
export interface TimePart {
  readonly id: string;
  readonly name: string;
  readonly help: string;
  readonly ps: number;
  /** Of the base, 0 to 1. */
  readonly share: number | null;
}

/** The parts of the collectives on all TPUs, and the flows between them. */
export interface TransferTimeline {
  /** Ops of the TPU, and begins and ends of copies between device and host. */
  readonly kinds: readonly string[];
  readonly hosts: readonly HostTransfers[];
}

/** A change that a finding or a large part of the step suggests, tried alone. */
export interface TriedChange {
  /** Id of the finding; "" for a part of the step. */
  readonly finding: string;
  /** Of the finding; "" for a part of the step. */
  readonly title: string;
  /** What changes, in words; "" if no change stands for the finding. */
  readonly label: string;
  /** The change as keys of the page's address; empty if none does. */
  readonly keys: Readonly<Record<string, string>>;
  /** Time that the finding says could be gained at most; null for a part of the step. */
  readonly part_ps: number | null;
  /** What the average step gains with this change alone; null if that is unknown. */
  readonly gain_ps: number | null;
  /** Of the interval of the gain, as is `high_ps`. */
  readonly low_ps: number | null;
  readonly high_ps: number | null;
  /** "" if the gain is unknown. */
  readonly confidence: string;
  /** Why it is; "" if it is known. */
  readonly cannot: string;
}

/** A place of the address that nothing in the recording is called. */
export interface UnknownPlace {
  readonly place: string;
  /** Names that are. */
  readonly near: readonly string[];
}

/** Achieved and peak work of the units of TPUs. */
export interface Utilization {
  /** One row per sample, core and unit, host after host. */
  readonly units: TableData;
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** A run of a collective that waited until other devices had started; no other number includes this wait. */
export interface WaitForStart {
  readonly device: string;
  readonly host: string;
  readonly op: string;
  readonly kind: string;
  readonly begin_ps: number;
  readonly end_ps: number;
  readonly wait_ps: number;
}

/** XProf's shares of step time that TPU cores wait for input, in percent, an entry per step. */
export interface WaitingShare {
  /** Over the cores. */
  readonly average: readonly number[];
  readonly minimum: readonly number[];
  readonly maximum: readonly number[];
  /** Statistics of `maximum` over the steps. */
  readonly longest: Statistics;
  /** Host and ordinal of the core that waits longest; "unknown" if none waits. */
  readonly cores: readonly string[];
}

/** A figure as XProf shows it; `property` is its name in XProf's answer. */
export interface XprofFigure {
  readonly name: string;
  readonly value: string;
  readonly property: string;
}

/** XProf's statements, in a document whose other figures are XProf's, too. */
export interface XprofReading {
  /** Statistics over the steps, each as long as on its slowest host. */
  readonly step_time_ms: Statistics;
  /** Verdicts as sentences, with links as in Markdown; the conclusion on input is the first. */
  readonly statements: readonly string[];
  /** Of the overview. */
  readonly tips: readonly XprofTip[];
  /** Of the overview. */
  readonly figures: readonly XprofFigure[];
  /** Of the input pipeline; null without TPUs. */
  readonly waiting: WaitingShare | null;
}

/** A tip, with links as in Markdown; it may begin with the id of a tool. */
export interface XprofTip {
  readonly heading: string;
  readonly text: string;
}

/** What `/page` answers, by the id of the tool. */
export interface Documents {
  readonly overview_page: Overview;
  readonly graph_viewer: HloGraph;
  readonly op_profile: OpProfile;
  readonly input_pipeline_analyzer: InputPipeline;
  readonly kernel_stats: KernelStats;
  readonly memory_profile: MemoryProfile;
  readonly memory_viewer: ProgramMemory;
  readonly roofline_model: RooflineModel;
  readonly perf_counters: PerfCounters;
  readonly pod_viewer: Pod;
  readonly framework_op_stats: FrameworkOpStats;
  readonly hlo_stats: HloStats;
  readonly inference_profile: InferenceProfile;
  readonly megascale_stats: Megascale;
  readonly kernel_utilization: KernelUtilization;
  readonly smart_suggestion: RunFindings;
  readonly utilization_viewer: Utilization;
  readonly tf_data_bottleneck_analysis: DataPipelines;
  readonly tf_data_run: DataPipelineRun;
  readonly time_budget: TimeBudget;
  readonly what_if: StepWhatIf;
  readonly communication: Communication;
  readonly source_view: Source;
  readonly memory_over_time: ProgramMemoryOverTime;
  readonly allocations_over_time: AllocationsOverTime;
  readonly python_stacks: PythonStacks;
  readonly compare: ComparedRuns;
}
