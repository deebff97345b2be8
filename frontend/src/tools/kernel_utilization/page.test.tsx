// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { settle, showPage } from "../../page/testing";
import { tableOf } from "../../base/testing";
import { headline, hiddenColumns, kernelsOf, withDoubts } from "./model";
import page from "./page";

const MEASURED = {
  kernel: ["matmul", "copy"],
  host: ["h", "h"],
  device: [1, 1],
  device_type: ["TPU v7x", "TPU v7x"],
  sample: [3, 4],
  duration_us: [20, 5],
  mxu_percent: [40, 120],
  precision_BF16: [75, 75],
  precision_Int8: [25, 25],
  "unit_No MXU Busy": [90, null],
  "unit_Vmem Loads": [10, 70],
  unit_XLU0: [0, null],
};

/** The labels of units and operands are their names. */
function answer(measured: Parameters<typeof tableOf>[0]) {
  const { columns, ...more } = tableOf(measured);
  return { ...more, columns: columns.map((column) => ({ ...column, label: column.label.replace(/^(unit|precision)_/, "") })) };
}

const show = (measured: Parameters<typeof tableOf>[0]) =>
  showPage(
    page,
    { id: "kernel_utilization", title: "Kernel Utilization", group: "Ops", hosts: "one_or_all" },
    { kernels: answer(measured) },
  );

describe("kernels", () => {
  const table = withDoubts(answer(MEASURED));
  const kernels = kernelsOf(table);

  it("have the units that they use, and doubts", () => {
    expect(kernels.map(({ others }) => others.map(({ name, percent }) => `${name} ${percent}`))).toEqual([
      ["No MXU Busy 90", "Vmem Loads 10", "XLU0 0"],
      ["Vmem Loads 70"],
    ]);
    expect(table.columns.find(({ id }) => id === "mxu_percent")?.doubts).toEqual([null, expect.stringContaining("More than 100%")]);
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
    const shown = await show(MEASURED);
    expect(shown.text()).toContain("Matrix units by operand");
    const grid = shown.root.querySelector('[role="grid"]') as HTMLElement;
    grid.focus();
    for (const key of ["End", "Enter"]) grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await settle(shown.root);
    expect(shown.keys.get("kernel")).toMatch(/^[12] (copy|matmul)$/);
  });

  it("says why there is nothing", async () => {
    expect((await show({ kernel: [] })).text()).toContain("No kernel with counters");
  });
});
