// A document about a step that waits for a function, for tests.
import type { StepWhatIf, TriedChange } from "../../base/documents";
import { tableOf } from "../../base/testing";

const group = (id: string, name: string, parts: readonly (readonly [string, string])[]) => ({
  id,
  name,
  help: "",
  parts: parts.map(([part, label]) => ({ id: part, name: label, help: `${label}.` })),
});

export const LOAD: TriedChange = {
  finding: "slow_host_code",
  title: "Devices wait 60.0% of the step for code on the host: train.py:3 load_batch",
  label: "Without train.py:3 load_batch",
  keys: { without: "train.py:3 load_batch" },
  part_ps: 60e6,
  gain_ps: 60e6,
  low_ps: 60e6,
  high_ps: 60e6,
  confidence: "high",
  cannot: "",
};

const UNEXPLAINED: TriedChange = {
  ...LOAD,
  finding: "launch_bound",
  title: "Devices wait 10.0% of the step for launches",
  label: "",
  keys: {},
  part_ps: 10e6,
  gain_ps: null,
  low_ps: null,
  high_ps: null,
  confidence: "",
  cannot: "No function takes just this time.",
};

const MATMUL: TriedChange = {
  ...LOAD,
  finding: "",
  title: "",
  label: "Without matmul",
  keys: { without: "matmul" },
  part_ps: null,
  gain_ps: 20e6,
  low_ps: 10e6,
  high_ps: 30e6,
};

export const RECORDED: StepWhatIf = {
  base: "step",
  groups: [
    group("device_compute", "Device compute", [["compute", "Ops"]]),
    group("host_compute", "Host compute", [["idle_host", "Waits for host code"]]),
    group("between_steps", "Between steps", []),
  ],
  large: false,
  before: { length_ps: 100e6, median_ps: 99e6, base_ps: 100e6, average_ps: { compute: 40e6, idle_host: 60e6 } },
  after: {
    parts: { length_ps: 100e6, median_ps: 99e6, base_ps: 100e6, average_ps: { compute: 40e6, idle_host: 60e6 } },
    low_ps: 100e6,
    high_ps: 100e6,
    confidence: "high",
    reasons: [],
    limits: tableOf({ what: ["host code", "op"], name: ["train.py:3 load_batch", "matmul"], per_step_ps: [60e6, 40e6] }),
  },
  cannot: "",
  remedy: "",
  unknown: [],
  tried: [LOAD, UNEXPLAINED, MATMUL],
  notes: ["A note."],
  left_out: [],
};

/** Without the function; devices share cores. */
export const WITHOUT: StepWhatIf = {
  ...RECORDED,
  after: {
    parts: { length_ps: 40e6, median_ps: 39e6, base_ps: 40e6, average_ps: { compute: 40e6 } },
    low_ps: 35e6,
    high_ps: 45e6,
    confidence: "medium",
    reasons: ["12% of the chain that determines the steps are delays."],
    limits: tableOf({ what: ["op"], name: ["matmul"], per_step_ps: [40e6] }),
  },
};
