// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { settle, showPage } from "../../page/testing";
import { columnOf } from "../../api/payload/fields";
import { headline, hiddenColumns, readKernels, tableOf } from "./model";
import page from "./page";

function kernel(name: string, duration: number, mxu: number, others: Record<string, number>): unknown {
  return {
    kernel_name: name,
    duration_us: duration,
    mxu_utilization: mxu,
    mxu_is_anomaly: mxu > 100,
    mxu_cycles_breakdown: { BF16: 75, Int8: 25 },
    other_metrics: others,
    sample: 3,
  };
}

const ANSWER = {
  status: "SUCCESS",
  devices: [
    {
      device_id: 1,
      device_type: "TPU v7x",
      host: "h",
      kernels: [kernel("matmul", 20, 40, { "Vmem Loads": 10, "No MXU Busy": 90, XLU0: 0 }), kernel("copy", 5, 120, { "Vmem Loads": 70 })],
    },
  ],
};
const EMPTY = { status: "SUCCESS", devices: [{ device_id: 1, device_type: "TPU v7x", host: "h", kernels: [] }] };
const show = (answer: unknown) =>
  showPage(page, { id: "kernel_utilization", title: "Kernel Utilization", group: "Ops", hosts: "one_or_all" }, answer);

describe("kernels", () => {
  const kernels = readKernels(ANSWER);

  it("have a row each, a column for every unit, and doubts", () => {
    const table = tableOf(kernels);
    expect(columnOf(table, "unit_Vmem Loads")).toEqual([10, 70]);
    expect(columnOf(table, "unit_No MXU Busy")).toEqual([90, null]);
    expect(table.columns.find(({ id }) => id === "mxu_utilization")?.doubts).toEqual([null, expect.stringContaining("More than 100%")]);
    expect(hiddenColumns(table)).toEqual(["host", "unit_XLU0"]);
  });

  it("are summed up by the longest one", () => {
    const { title, sentences } = headline(kernels);
    expect(title).toBe("matmul keeps the matrix units busy 40.0% of the time");
    expect(sentences.join(" ")).toContain("Vmem Loads, 10.0%");
    expect(sentences.join(" ")).toContain("cannot be: copy");
  });
});

describe("kernel utilization", () => {
  it("shows the units of the kernel that is opened in the table", async () => {
    const shown = await show(ANSWER);
    expect(shown.text()).toContain("Matrix units by operand");
    const grid = shown.root.querySelector('[role="grid"]') as HTMLElement;
    grid.focus();
    for (const key of ["End", "Enter"]) grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await settle(shown.root);
    expect(shown.keys.get("kernel")).toMatch(/^[12] (copy|matmul)$/);
  });

  it("says why there is nothing", async () => {
    expect((await show(EMPTY)).text()).toContain("No kernel with counters");
  });
});
