// The Performance summary and the Run environment as lists of metrics. Pure.
import { propertyNumber } from "../../../api/payload/fields";
import { formatDate, formatPercent, formatQuantity, formatTime, plural } from "../../../base/format";
import { coveredPercent } from "../../../base/steps/reading";
import { baseText, segmentsOf } from "../../../base/steps/decomposition";
import type { Decomposition } from "../../../base/documents";
import type { Figure } from "../../../widgets/content/figures";
import { dutyCycle } from "../decode";
import type { Overview } from "../decode";
import { stepTime, xprofPerformance } from "./xprof";

const ms = (value: number): string => formatQuantity(value, "ms");

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
  const parts = [...segmentsOf(found)].reverse().flatMap((one): Figure[] => {
    const inner = one.id === "device_compute" && one.parts.length > 1 ? one.parts : [];
    return [
      figure(one.name, one.ps, one.help),
      ...inner.map((part) => figure(`${one.name}: ${part.name.toLowerCase()}`, part.ps, part.help)),
    ];
  });
  return parts.length === 0 ? [] : found.base === "step" ? parts : [whole, ...parts];
}

const MOST_HOSTS = 8;

/** Step time per host, slowest first. */
function hostTimes(overview: Overview): Figure[] {
  const hosts = overview.extras?.hosts;
  if (!hosts || hosts.stepMs.size < 2) return [];
  const count = overview.steps.labels.length;
  return [...hosts.stepMs]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_HOSTS)
    .map(([name, time]): Figure => ({
      name: `Step time of ${name}`,
      value: ms(time),
      exact: `${time} ms`,
      detail: count > 0 ? `slowest in ${hosts.slowestIn.get(name) ?? 0} of ${plural(count, "step")}` : "of its own steps",
      help: "Step time of this host.\nMean over the same steps and its devices that take part.\nSource: trace.",
    }));
}

function session(overview: Overview): Figure[] {
  const recorded = overview.extras?.session;
  const average = overview.latency.find(({ label }) => label.toLowerCase() === "avg");
  const time = recorded?.averageMs ?? average?.totalMs;
  if (time === undefined) return [];
  const percentile = (label: string): string => ms(overview.latency.find((row) => row.label === label)?.totalMs ?? 0);
  return [
    {
      name: "Average session time",
      value: ms(time),
      exact: `${time} ms`,
      better: "lower",
      ...(overview.latency.length ? { detail: `median ${percentile("50.0%")}, 99th percentile ${percentile("99.0%")}` } : {}),
      help: "Latency of a request.\nMean over the requests, from the first event of each to its last.\nSource: trace.",
    },
  ];
}

const UNCOUNTED = "The profile has no hardware counters for it.";
const NO_MXU = "The profile has no hardware counters for it, and the peaks of this device or the costs of the program are unknown.";
const NO_PEAKS = "The peaks of this device or the costs of the program are unknown.";

/** Counters; null for 0, which means that they were not recorded. */
function counter(properties: Readonly<Record<string, string>>, name: string): string | null {
  const value = propertyNumber(properties, name);
  return value === null || value === 0 ? null : formatPercent(value);
}

const orNull = (value: number | null | undefined): string | null => (value === null || value === undefined ? null : formatPercent(value));

function tpu(overview: Overview): Figure[] {
  const { general, extras } = overview;
  const efficiency = extras?.efficiency;
  const over = efficiency?.over === "steps" ? "Over the steps." : "Over the whole profile.";
  const figures: Figure[] = [
    matrixUnits(counter(general, "mxu_utilization_percent"), efficiency?.peak, over),
    {
      name: "FLOP rate relative to the roofline",
      value: orNull(efficiency?.flopRate),
      reason: NO_PEAKS,
      better: "higher",
      help: `FLOP rate divided by the roofline's limit at the program's operational intensity.\n${over}\nSource: HLO cost estimate, trace.`,
    },
    {
      name: "TPU duty cycle",
      value: orNull(dutyCycle(overview)),
      better: "higher",
      help:
        "Share of the time in which the chips were busy.\n" +
        "Union of the ops of a chip, except those that only wait, divided by the recorded time.\n" +
        "Source: trace.",
    },
    {
      name: "HBM bandwidth utilisation",
      value: counter(general, "hbm_utilization_percent"),
      reason: UNCOUNTED,
      better: "higher",
      help: "Share of the peak bandwidth of HBM.\nSource: hardware counters in the trace.",
    },
    {
      name: "Memory bandwidth relative to the peak",
      value: orNull(efficiency?.bandwidth),
      reason: NO_PEAKS,
      better: "higher",
      help: `Bytes per second divided by the peak HBM bandwidth.\n${over}\nSource: HLO cost estimate, trace.`,
    },
    {
      name: "Program goodput efficiency",
      value: orNull(efficiency?.goodput),
      reason: NO_PEAKS,
      better: "higher",
      help: `Time that all ops would take at peak rates, divided by the time available to them.\n${over}\nEstimate.`,
    },
  ];
  const sparse = [
    ["sc_steptime_average", "SparseCore step time"],
    ["sc_infeed_time_avg", "SparseCore input"],
    ["sc_outfeed_time_avg", "SparseCore output"],
    ["sc_idle_time_avg", "SparseCore idle"],
  ] as const;
  for (const [key, name] of sparse) {
    const value = propertyNumber(general, key);
    if (value !== null) figures.push({ name, value: ms(value), help: `${name}, mean over SparseCores and steps.\nSource: trace.` });
  }
  return figures;
}

/** From hardware counters, else from the costs of the ops. */
function matrixUnits(counted: string | null, estimated: number | null | undefined, over: string): Figure {
  const name = "TPU matrix unit utilisation";
  if (counted !== null)
    return {
      name,
      value: counted,
      detail: "from hardware counters",
      better: "higher",
      help: "Share of the peak of the matrix units.\nSource: hardware counters in the trace.",
    };
  const known = estimated !== null && estimated !== undefined;
  return {
    name,
    value: orNull(estimated),
    ...(known ? { detail: "estimated from op costs" } : {}),
    reason: NO_MXU,
    better: "higher",
    help: `Share of the peak of the matrix units.\nFLOPs of all ops divided by time and peak FLOP rate.\n${over}\nSource: HLO cost estimate, trace.`,
  };
}

/** Device compute time by the width of its data. */
function precision({ hardware, extras }: Overview): Figure[] {
  if (hardware !== "TPU" && hardware !== "GPU") return [];
  const widths = extras?.precision;
  const help =
    "Time of ops and kernels by the width of their floating-point data, inside steps and outside.\n" +
    "The widest operand of the HLO op decides; of kernels without an op, the name.\n" +
    "Share of the device's compute time, without waits, copies and collectives.\n" +
    "Source: HLO, trace.";
  return (
    [
      ["up to 16 bits", widths?.narrow],
      ["more than 16 bits", widths?.wide],
    ] as const
  ).map(([name, share]): Figure => ({
    name: `Device compute precision: ${name}`,
    value: orNull(share),
    reason: "No device computation was recorded.",
    help,
  }));
}

function power(properties: Readonly<Record<string, string>>): Figure[] {
  const facts = [
    ["fw_power_metrics", "Power (firmware)"],
    ["spi_power_metrics", "Power (board)"],
  ] as const;
  return facts.flatMap(([key, name]) =>
    properties[key]
      ? [
          {
            name,
            value: properties[key].split("##").join(", "),
            help: "Power drawn by the chips.\nSource: hardware counters in the trace.",
          },
        ]
      : [],
  );
}

/** Profilers of eager programs mark no op, so that 0 % means something only beside calls of functions. */
const NOT_MARKED = "No op is marked as eager, and no call of a tf.function was recorded: whether ops ran eagerly is unknown.";

/** Two shares of one whole; if both are zero, nothing was recorded. */
function pair(
  properties: Readonly<Record<string, string>>,
  title: string,
  help: string,
  reason: string,
  parts: readonly (readonly [string, string])[],
  zero: boolean,
): Figure[] {
  const values = parts.map(([key]) => propertyNumber(properties, key));
  if (values.every((value) => value === null)) return [];
  const none = !zero && values.every((value) => !value);
  return parts.map(([, name], i) => ({ name: `${title}: ${name}`, value: none ? null : orNull(values[i]), reason, help }));
}

/** The whole Performance summary. */
export function performance(overview: Overview): Figure[] {
  const { general, extras } = overview;
  if (extras === null) return xprofPerformance(overview);
  const onTpu = overview.hardware === "TPU";
  return [
    ...stepTime(overview.steps),
    ...categories(extras.decomposition),
    ...precision(overview),
    ...hostTimes(overview),
    ...session(overview),
    ...(onTpu ? tpu(overview) : gpu(overview)),
    ...power(general),
    ...pair(
      general,
      "Framework op placement",
      "Where framework ops ran.\nShare of op occurrences.\nSource: trace.",
      "No framework op was recorded.",
      [
        ["host_tf_op_percent", "host"],
        ["device_tf_op_percent", "device"],
      ],
      false,
    ),
    // PyTorch marks no op as eager: all are, but those that torch.compile makes.
    ...(overview.extras?.frameworks.includes("PyTorch")
      ? []
      : pair(
          general,
          "Eager execution",
          "Time in eagerly executed ops.\nShare of the op time on the host or device.\nSource: trace.",
          NOT_MARKED,
          [
            ["host_op_time_eager_percent", "host"],
            ["device_op_time_eager_percent", "device"],
          ],
          (overview.extras?.functions.length ?? 0) > 0,
        )),
  ];
}

function gpu(overview: Overview): Figure[] {
  if (overview.hardware !== "GPU") return [];
  const efficiency = overview.extras?.efficiency;
  return [
    {
      name: "FLOP rate relative to the roofline",
      value: orNull(efficiency?.flopRate),
      reason: NO_PEAKS,
      better: "higher",
      help: "FLOP rate divided by the roofline's limit at the program's operational intensity.\nSource: HLO cost estimate, trace.",
    },
  ];
}

/** The environment in which the profile was taken. */
export function environment(overview: Overview): Figure[] {
  const { environment: properties } = overview;
  const start = propertyNumber(properties, "start_time_ms");
  const duration = propertyNumber(properties, "duration_ms");
  const text = (key: string): string | null => properties[key] || null;
  const training = properties["is_training"];
  const figures: Figure[] = [
    { name: "Hosts", value: text("host_count"), help: "Hosts whose profiles were read." },
    { name: "Tasks", value: text("task_count"), help: "Processes that ran the program." },
    { name: "Device type", value: text("device_type") },
    {
      name: "Device cores",
      value: properties["device_core_count"] === "0" ? null : text("device_core_count"),
      reason: "No device was recorded.",
    },
    {
      name: "Program",
      value: training === undefined ? null : training === "true" ? "training" : "inference or unknown",
      help: "Training if an HLO module of the profile computes gradients.",
    },
  ];
  if (start !== null) figures.push({ name: "Profile taken", value: formatDate(start), exact: new Date(start).toISOString() });
  if (duration !== null) figures.push({ name: "Profile covers", value: formatQuantity(duration, "ms"), exact: `${duration} ms` });
  const recording = overview.extras?.recording;
  if (recording) {
    figures.push({
      name: "Recording covered by steps",
      value: formatPercent(coveredPercent(recording)),
      exact: `${recording.stepsMs} of ${recording.lengthMs} ms`,
      ...(Number(properties["host_count"] ?? 1) > 1 ? { detail: `on ${recording.host}, where it is least` } : {}),
      help:
        "Share of the recording that lies in the steps of this page.\n" +
        "From the first begin to the last end of the events: of the devices on TPUs, else of host and devices.\n" +
        "Source: trace.",
    });
  }
  return figures;
}
