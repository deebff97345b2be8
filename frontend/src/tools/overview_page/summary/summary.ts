// The Performance summary and the Run environment as lists of metrics. Pure.
import { formatDate, formatPercent, formatQuantity, formatTime, plural } from "../../../base/format";
import { breakdownIn, coveredPercent } from "../../../base/steps/reading";
import { baseText, busyShare, categoriesOf } from "../../../base/steps/decomposition";
import type { Decomposition, Overview } from "../../../base/documents";
import type { Figure } from "../../../widgets/content/figures";
import { stepTime, xprofPerformance } from "./xprof";

const ms = (value: number): string => formatQuantity(value, "ms");

const MATRIX_UNITS = "TPU matrix unit utilisation";
const DUTY_CYCLE = "TPU duty cycle";
const KEY_FIGURES: readonly string[] = [MATRIX_UNITS, DUTY_CYCLE];

/** How busy the devices are, beside the bar at the top. */
export function keyFigures(overview: Overview): Figure[] {
  if (overview.xprof) return [];
  const { steps, hardware } = overview;
  const { base } = steps.decomposition;
  if (hardware === "TPU") return tpu(overview).filter(({ name, value }) => KEY_FIGURES.includes(name) && value !== null);
  const busy = busyShare(steps.decomposition);
  if (busy === null) return [];
  const help = "The device runs ops, communication or copies; in the rest it is idle.";
  return [
    {
      name: "Device busy",
      value: `${formatPercent(100 * busy)} of the ${base}`,
      help: `${help}\nMean over steps and the devices that take part; share of the ${base}.\nSource: trace.`,
    },
  ];
}

/** The categories with their shares, those of the graph's top first; device compute with its parts. */
function categories(found: Decomposition): Figure[] {
  const figure = (name: string, ps: number, help: string): Figure => ({
    name,
    part: true,
    value: `${formatTime(ps)} (${formatPercent((100 * ps) / found.base_ps)})`,
    exact: `${ps / 1e9} ms`,
    help: `${help}\nMean over steps and the devices that take part; share of the ${found.base}.\nSource: trace.`,
  });
  const whole: Figure = {
    name: found.base === "step" ? "The step" : found.base === "recording" ? "The recording" : "Time from step to step",
    value: formatTime(found.base_ps),
    exact: `${found.base_ps / 1e9} ms`,
    better: "lower",
    help: `What the shares below are of: ${baseText(found)}.\nSource: trace.`,
  };
  const parts = [...categoriesOf(found)].reverse().flatMap((one): Figure[] => {
    const inner = one.parts.length > 1 && ["device_compute", "other"].includes(one.id) ? one.parts : [];
    return [
      figure(one.name, one.ps, one.help),
      ...inner.map((part) => figure(`${one.name}: ${part.name.toLowerCase()}`, part.ps, part.help)),
    ];
  });
  return parts.length === 0 ? [] : found.base === "step" ? parts : [whole, ...parts];
}

const MOST_HOSTS = 8;

/** Step time per host, slowest first. */
function hostTimes({ steps: { hosts, decomposition } }: Overview): Figure[] {
  const times = Object.entries(hosts.step_ms);
  if (times.length < 2) return [];
  const count = decomposition.source === "recording" ? 0 : decomposition.steps.name.length;
  return times
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_HOSTS)
    .map(([name, time]): Figure => ({
      name: `Step time of ${name}`,
      value: ms(time),
      exact: `${time} ms`,
      detail: count > 0 ? `slowest in ${hosts.slowest_in[name] ?? 0} of ${plural(count, "step")}` : "of its own steps",
      help: "Step time of this host.\nMean over the same steps and its devices that take part.\nSource: trace.",
    }));
}

function session({ requests }: Overview): Figure[] {
  const [mean] = requests?.percentiles ?? [];
  if (mean === undefined) return [];
  const percentile = (label: string): string => ms(requests?.percentiles.find((row) => row.label === label)?.total_ms ?? 0);
  return [
    {
      name: "Average session time",
      value: ms(mean.total_ms),
      exact: `${mean.total_ms} ms`,
      better: "lower",
      detail: `median ${percentile("50.0%")}, 99th percentile ${percentile("99.0%")}`,
      help: "Latency of a request.\nMean over the requests, from the first event of each to its last.\nSource: trace.",
    },
  ];
}

const UNCOUNTED = "The profile has no hardware counters for it.";
const NO_MXU = "The profile has no hardware counters for it, and the peaks of this device or the costs of the program are unknown.";
const NO_PEAKS = "The peaks of this device or the costs of the program are unknown.";

const orNull = (value: number | null): string | null => (value === null ? null : formatPercent(value));

function tpu({ utilization, efficiency }: Overview): Figure[] {
  const over = efficiency.over === "steps" ? "Over the steps." : "Over the whole profile.";
  const sparse = utilization.sparse_cores;
  const times = sparse
    ? ([
        ["SparseCore step time", sparse.step_ms],
        ["SparseCore input", sparse.input_ms],
        ["SparseCore output", sparse.output_ms],
        ["SparseCore idle", sparse.idle_ms],
      ] as const)
    : [];
  return [
    matrixUnits(utilization.matrix_units_percent, efficiency.peak_flops_percent, over),
    {
      name: "FLOP rate relative to the roofline",
      value: orNull(efficiency.flop_rate_percent),
      reason: NO_PEAKS,
      better: "higher",
      help: `FLOP rate divided by the roofline's limit at the program's operational intensity.\n${over}\nSource: HLO cost estimate, trace.`,
    },
    {
      name: DUTY_CYCLE,
      value: orNull(utilization.duty_cycle_percent),
      better: "higher",
      help:
        "Share of the time in which the chips were busy.\n" +
        "Union of the ops of a chip, except those that only wait, divided by the recorded time.\n" +
        "Source: trace.",
    },
    {
      name: "HBM bandwidth utilisation, counted",
      value: orNull(utilization.hbm_percent),
      reason: UNCOUNTED,
      better: "higher",
      help: "Share of the peak bandwidth of HBM.\nSource: hardware counters in the trace.",
    },
    {
      name: "Memory bandwidth relative to the peak",
      value: orNull(efficiency.memory_bw_percent),
      reason: NO_PEAKS,
      better: "higher",
      help: `Bytes per second divided by the peak HBM bandwidth.\n${over}\nSource: HLO cost estimate, trace.`,
    },
    {
      name: "Program goodput efficiency",
      value: orNull(efficiency.goodput_percent),
      reason: NO_PEAKS,
      better: "higher",
      help: `Time that all ops would take at peak rates, divided by the time available to them.\n${over}\nEstimate.`,
    },
    ...times.map(([name, value]): Figure => ({
      name,
      value: ms(value),
      help: `${name}, mean over SparseCores and steps.\nSource: trace.`,
    })),
  ];
}

/** From hardware counters, else from the costs of the ops. */
function matrixUnits(counted: number | null, estimated: number | null, over: string): Figure {
  const name = MATRIX_UNITS;
  if (counted !== null)
    return {
      name,
      value: orNull(counted),
      detail: "from hardware counters",
      better: "higher",
      help: "Share of the peak of the matrix units.\nSource: hardware counters in the trace.",
    };
  return {
    name,
    value: orNull(estimated),
    ...(estimated !== null ? { detail: "estimated from op costs" } : {}),
    reason: NO_MXU,
    better: "higher",
    help: `Share of the peak of the matrix units.\nFLOPs of all ops divided by time and peak FLOP rate.\n${over}\nSource: HLO cost estimate, trace.`,
  };
}

/** Device compute time by the width of its data. */
function precision({ hardware, precision: widths }: Overview): Figure[] {
  if (hardware !== "TPU" && hardware !== "GPU") return [];
  const help =
    "Time of ops and kernels by the width of their floating-point data, inside steps and outside.\n" +
    "The widest operand of the HLO op decides; of kernels without an op, the name.\n" +
    "Share of the device's compute time, without waits, copies and collectives.\n" +
    "Source: HLO, trace.";
  return (
    [
      ["up to 16 bits", widths?.narrow_percent],
      ["more than 16 bits", widths?.wide_percent],
    ] as const
  ).map(([name, share]): Figure => ({
    name: `Device compute precision: ${name}`,
    value: orNull(share ?? null),
    reason: "No device computation was recorded.",
    help,
  }));
}

/** Profilers of eager programs mark no op, so that 0 % means something only beside calls of functions. */
const NOT_MARKED = "No op is marked as eager, and no call of a tf.function was recorded: whether ops ran eagerly is unknown.";

/** Two shares of one whole; if both are zero, nothing was recorded unless `zero` is told to be known. */
function pair(title: string, help: string, reason: string, host: number, device: number, zero: boolean): Figure[] {
  const none = !zero && !host && !device;
  return (
    [
      ["host", host],
      ["device", device],
    ] as const
  ).map(([name, value]) => ({ name: `${title}: ${name}`, value: none ? null : formatPercent(value), reason, help }));
}

/** The whole Performance summary. */
export function performance(overview: Overview): Figure[] {
  const { steps, utilization, frameworks, functions } = overview;
  const breakdown = breakdownIn(overview);
  if (overview.xprof) return xprofPerformance(breakdown, overview.xprof);
  return [
    ...stepTime(breakdown),
    ...categories(steps.decomposition),
    ...precision(overview),
    ...hostTimes(overview),
    ...session(overview),
    ...(overview.hardware === "TPU" ? tpu(overview) : gpu(overview)),
    ...pair(
      "Framework op placement",
      "Where framework ops ran.\nShare of op occurrences.\nSource: trace.",
      "No framework op was recorded.",
      utilization.ops_on_host_percent,
      utilization.ops_on_device_percent,
      false,
    ),
    // PyTorch marks no op as eager: all are, but those that torch.compile makes.
    ...(frameworks.includes("PyTorch")
      ? []
      : pair(
          "Eager execution",
          "Time in eagerly executed ops.\nShare of the op time on the host or device.\nSource: trace.",
          NOT_MARKED,
          utilization.eager_on_host_percent,
          utilization.eager_on_device_percent,
          functions.length > 0,
        )),
  ];
}

function gpu({ hardware, efficiency }: Overview): Figure[] {
  if (hardware !== "GPU") return [];
  return [
    {
      name: "FLOP rate relative to the roofline",
      value: orNull(efficiency.flop_rate_percent),
      reason: NO_PEAKS,
      better: "higher",
      help: "FLOP rate divided by the roofline's limit at the program's operational intensity.\nSource: HLO cost estimate, trace.",
    },
  ];
}

/** The environment in which the profile was taken. */
/** How long the profiler was on; unknown if the events of one host take longer. */
const profilerTime = (ms: number, longest: number): Figure => ({
  name: "Profiler was on for",
  value: longest > ms + 1 ? null : formatQuantity(ms, "ms"),
  exact: `${ms} ms`,
  reason: "The recorded times of its start and stop are wrong: events last longer.",
  help: "From the start to the stop of the profiler, idle time before the first and after the last event included.\nSource: profile.",
});

export function environment({ environment: found, steps: { recording, decomposition } }: Overview): Figure[] {
  const { hosts, tasks, begin_ms, duration_ms } = found;
  const perHost = hosts && tasks ? ` (num tasks per host = ${Math.floor(tasks / hosts)})` : "";
  const figures: Figure[] = [
    { name: "Hosts", value: String(hosts), help: "Hosts whose profiles were read." },
    { name: "Tasks", value: `${tasks}${perHost}`, help: "Processes that ran the program." },
    { name: "Device type", value: found.device_type || null },
    { name: "Device cores", value: found.device_cores === 0 ? null : String(found.device_cores), reason: "No device was recorded." },
    {
      name: "Program",
      value: found.is_training ? "training" : "inference or unknown",
      help: "Training if an HLO module of the profile computes gradients.",
    },
  ];
  if (begin_ms !== null) figures.push({ name: "Profile taken", value: formatDate(begin_ms), exact: new Date(begin_ms).toISOString() });
  const inSteps = decomposition.steps.duration_ps.reduce((all, ps) => all + ps, 0) / 1e9;
  if (duration_ms !== null) figures.push(profilerTime(duration_ms, Math.max(recording?.length_ms ?? 0, inSteps)));
  if (recording) {
    figures.push({
      name: "Recording covered by steps",
      value: formatPercent(coveredPercent(recording)),
      exact: `${recording.steps_ms} of ${recording.length_ms} ms`,
      ...(hosts > 1 ? { detail: `on ${recording.host}, where it is least` } : {}),
      help:
        "Share of the recording that lies in the steps of this page.\n" +
        "From the first begin to the last end of the events: of the devices on TPUs, else of host and devices.\n" +
        "Source: trace.",
    });
  }
  return figures;
}
