import { describe, expect, it } from "vitest";
import { readMessages, readSteps, refined } from "./step_table";

const col = (id: string, label: string, type = "number", unit?: string) => ({ id, label, type, ...(unit ? { unit } : {}) });
const row = (...values: (string | number)[]) => ({ c: values.map((v) => ({ v })) });

const tpu = {
  cols: [
    col("stepnum", "stepnum", "string"),
    col("tcComputeTimeMs", "TensorCore compute (in ms)"),
    col("tcInfeedTimeMs", "TensorCore input (in ms)"),
    col("tcIdleTimeMs", "TensorCore idle (in ms)"),
    col("hostTransferTimeMs", "Host transfer (in ms)"),
    col("tooltip", "tooltip", "string"),
    col("infeedPercentAverage", "%"),
    col("infeedPercentMin", "min"),
    col("infeedPercentMax", "max"),
  ],
  rows: [row("1", 6, 2, 2, 0.5, "step 1", 10, 5, 20), row("2", 6, 4, 2, 0.5, "step 2", 20, 5, 40)],
  p: {
    hardware_type: "TPU",
    steptime_ms_average: "11.00",
    steptime_ms_standard_deviation: "1.41",
    steptime_ms_minimum: "10.00",
    steptime_ms_maximum: "12.00",
    infeed_percent_average: "30.0",
    infeed_percent_standard_deviation: "14.1",
    infeed_percent_minimum: "20.0",
    infeed_percent_maximum: "40.0",
  },
};

describe("step table", () => {
  it("decodes the table of TPUs", () => {
    const steps = readSteps(tpu);
    expect(steps.parts.map(({ name, category }) => [name, category])).toEqual([
      ["TensorCore compute", "device_compute"],
      ["TensorCore input", "input"],
      ["TensorCore idle", "idle"],
      ["Host transfer", "host_transfer"],
    ]);
    expect(steps.totalMs).toEqual([10, 12]);
    expect(steps.time?.deviation).toBeCloseTo(Math.SQRT2, 12);
    expect(steps.waiting?.maximum).toEqual([20, 40]);
    expect(steps.waiting?.overall?.average).toBe(30);
  });

  it("decodes the table of CPUs and GPUs", () => {
    const steps = readSteps({
      cols: [
        col("stepnum", "Step number", "string"),
        col("infeedTimeMs", "Input"),
        col("otherTimeMs", "All others"),
        col("stepTimeMs", "Step time"),
      ],
      rows: [row("train 1", 1, 2, 4)],
      p: { hardware_type: "CPU_ONLY", steptime_ms_average: "4.0", steptime_ms_standard_deviation: "-nan" },
    });
    expect([steps.labels, steps.totalMs, steps.time]).toEqual([["train 1"], [4], { average: 4, deviation: null, minimum: 4, maximum: 4 }]);
    expect(steps.waiting).toBeNull();
  });

  it("reports missing columns", () => {
    expect(() => readSteps({ cols: [], rows: [] })).toThrow("the table of steps has no column stepnum");
    expect(() => readSteps({})).toThrow("the table of steps is not a table");
  });

  it("prefers the server's statistics unless those of the rows agree with more digits", () => {
    const properties = { x_average: "0.8", x_standard_deviation: "0.3", x_minimum: "0.8", x_maximum: "0.8" };
    expect(refined(properties, "x", [0.81, 0.81])).toEqual({ average: 0.81, deviation: 0.3, minimum: 0.81, maximum: 0.81 });
    expect(refined(properties, "x", [5, 5])?.average).toBe(0.8);
  });

  it("orders messages and keeps each once", () => {
    const table = {
      cols: [col("severity", "Severity", "string"), col("message", "Message", "string")],
      rows: [row("INFO", "i"), row("WARNING", "w "), row("ERROR", "e"), row("WARNING", "w")],
    };
    expect(readMessages(table)).toEqual([
      { severity: "error", text: "e" },
      { severity: "warning", text: "w" },
      { severity: "info", text: "i" },
    ]);
    expect(readMessages({ cols: [], rows: [] })).toEqual([]);
  });

  it("omits messages about missing hosts, which the shell shows", () => {
    const cols = [col("severity", "Severity", "string"), col("message", "Message", "string")];
    const texts = [
      "Host w-1 is left out: torn",
      "5 of 6 hosts are left out: a, b, c and 2 more. The first: torn",
      "The first step is left out: cut",
    ];
    expect(readMessages({ cols, rows: texts.map((text) => row("WARNING", text)) })).toEqual([{ severity: "warning", text: texts[2] }]);
  });
});
