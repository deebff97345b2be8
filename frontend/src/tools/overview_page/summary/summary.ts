// The Performance summary and the Run environment as lists of metrics. Pure.
import { propertyNumber } from "../../../api/payload/fields";
import { formatDate, formatPercent, formatQuantity, plural } from "../../../base/format";
import { coveredPercent } from "../../../base/steps/reading";
import { statisticsOf } from "../../../base/steps/steps";
import type { StepBreakdown } from "../../../base/steps/steps";
import type { Figure } from "../../../widgets/content/figures";
import { dutyCycle, richSteps } from "../decode";
import type { Overview } from "../decode";

const ms = (value: number): string => formatQuantity(value, "ms");

function stepTime(steps: StepBreakdown, several: boolean): Figure[] {
  if (!steps.time) return [];
  const { average, deviation, minimum, maximum } = steps.time;
  return [
    {
      name: several ? "Average step time, slowest host of each step" : "Average step time",
      value: ms(average),
      exact: `${average} ms`,
      detail:
        deviation === null
          ? "one step"
          : deviation === 0
            ? "the same in every step"
            : `σ ${ms(deviation)}, ${ms(minimum)} to ${ms(maximum)}`,
      better: "lower",
      help: "Duration of a step.\nMean over the steps, each on its slowest host; σ is the sample deviation.\nSource: trace.",
    },
  ];
}

const MOST_HOSTS = 8;

/** Step time per host, slowest first. */
function hostTimes(overview: Overview): Figure[] {
  const hosts = overview.extras?.hosts;
  if (!hosts || hosts.stepMs.size < 2) return [];
  const count = richSteps(overview).labels.length;
  return [...hosts.stepMs]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_HOSTS)
    .map(([name, time]): Figure => ({
      name: `Step time of ${name}`,
      value: ms(time),
      exact: `${time} ms`,
      detail: count > 0 ? `slowest in ${hosts.slowestIn.get(name) ?? 0} of ${plural(count, "step")}` : "of its own steps",
      help: "Step time of this host.\nMean over the same steps.\nSource: trace.",
    }));
}

/** The parts of a step, last part first; they add up to the average step time. */
function stepParts(steps: StepBreakdown): Figure[] {
  return [...steps.parts].reverse().flatMap((part): Figure[] => {
    const partStatistics = statisticsOf(part.ms);
    if (!partStatistics || partStatistics.maximum === 0) return [];
    return [
      {
        name: part.name,
        part: true,
        value: ms(partStatistics.average),
        exact: `${partStatistics.average} ms`,
        help: `${part.help}\nMean over the steps; the parts add up to the average step time.`,
        ...(partStatistics.deviation === null || partStatistics.deviation === 0 ? {} : { detail: `σ ${ms(partStatistics.deviation)}` }),
      },
    ];
  });
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
  const { general, extras, steps } = overview;
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
  const active = propertyNumber(general, "tc_active_ms_average");
  if (active !== null && steps.time)
    figures.push({
      name: "TensorCore active per step, mean of all cores",
      value: ms(active),
      help:
        "Time of a step in which TensorCores run ops, except infeed, outfeed and waiting.\n" +
        "Mean over all cores of all hosts and over the steps.\n" +
        "Source: trace.",
    });
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

/** Device compute time by the width of its data; XProf's shares where they differ. */
function precision(overview: Overview): Figure[] {
  const widths = overview.extras?.precision;
  const keys = ["device_compute_16bit_percent", "device_compute_32bit_percent"] as const;
  const known = overview.steps.hardware === "TPU" || overview.steps.hardware === "GPU";
  if (!known) return [];
  const help =
    "Time of ops and kernels by the width of their floating-point data, inside steps and outside.\n" +
    "The widest operand of the HLO op decides; of kernels without an op, the name.\n" +
    "Share of the device's compute time, without waits, copies and collectives.\n" +
    "Source: HLO, trace.";
  return (
    [
      ["up to 16 bits", widths?.narrow, keys[0]],
      ["more than 16 bits", widths?.wide, keys[1]],
    ] as const
  ).map(([name, share, key]): Figure => {
    const xprof = propertyNumber(overview.general, key);
    const both = keys.some((one) => (propertyNumber(overview.general, one) ?? 0) > 0);
    const differs = share !== undefined && xprof !== null && both && formatPercent(share) !== formatPercent(xprof);
    return {
      name: `Device compute precision: ${name}`,
      value: orNull(share),
      reason: "No device computation was recorded.",
      help,
      ...(differs ? { detail: `XProf: ${formatPercent(xprof)}, by kernel names within steps` } : {}),
    };
  });
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
  const steps = richSteps(overview);
  const { general } = overview;
  const onTpu = overview.steps.hardware === "TPU";
  return [
    ...stepTime(steps, (overview.extras?.hosts.stepMs.size ?? 0) > 1),
    ...stepParts(steps),
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
    ...pair(
      general,
      "Eager execution",
      "Time in eagerly executed ops.\nShare of the op time on the host or device.\nSource: trace.",
      NOT_MARKED,
      [
        ["host_op_time_eager_percent", "host"],
        ["device_op_time_eager_percent", "device"],
      ],
      (overview.extras?.functions.length ?? 0) > 0,
    ),
    ...precision(overview),
  ];
}

function gpu(overview: Overview): Figure[] {
  if (overview.steps.hardware !== "GPU") return [];
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
        "Share of the recording that lies in a step, the first and the last included.\n" +
        "From the first begin to the last end of the events: of the devices on TPUs, else of host and devices.\n" +
        "Source: trace.",
    });
  }
  return figures;
}
