import { expect, it } from "vitest";
import type { KernelStats } from "../../base/documents";
import type { Cell } from "../../base/table/table_data";
import { tableOf } from "../../base/testing";
import { amounts, filterKernels, groupKernels, kernelsOf, sameEverywhere, summaryOf, withBaseKernels } from "./model";

const IDS = [
  "rank",
  "kernel_name",
  "registers_per_thread",
  "occupancy_pct",
  "is_op_tensor_core_eligible",
  "is_kernel_using_tensor_core",
  "op_name",
  "occurrences",
  "total_duration_us",
  "avg_duration_us",
  "min_duration_us",
  "max_duration_us",
];
/** A document with these launches; the share is that of the total duration, as the server gives it. */
function payload(rows: readonly (readonly Cell[])[]): KernelStats {
  const total = IDS.indexOf("total_duration_us");
  const all = rows.reduce((sum, row) => sum + Number(row[total]), 0);
  const share = rows.map((row) => Number(row[total]) / all);
  return { kernels: tableOf({ ...Object.fromEntries(IDS.map((id, i) => [id, rows.map((row) => row[i] ?? null)])), share }), left_out: [] };
}

const KERNELS = kernelsOf(
  payload([
    [1, "gemm", 32, 50, true, true, "a/MatMul", 2, 60, 30, 20, 40],
    [2, "fusion", null, null, true, false, "a/MatMul", 1, 30, 30, 30, 30],
    [3, "copy", 8, null, false, false, "", 5, 8, 1.6, 1, 3],
    [4, "gemm", 32, 50, true, true, "b/MatMul", 1, 2, 2, 2, 2],
  ]),
);
const values = (table: { columns: readonly { id: string; values: readonly unknown[] }[] }, id: string) =>
  table.columns.find((column) => column.id === id)?.values;

it("hides columns that tell no kernel from another", () => {
  expect(sameEverywhere(KERNELS.table)).toEqual([]);
  const alike = kernelsOf(
    payload([
      [1, "gemm", null, null, false, false, "", 2, 60, 30, 20, 40],
      [2, "fusion", null, null, false, true, "", 2, 60, 30, 20, 40],
    ]),
  );
  const measured = ["min_duration_us", "max_duration_us"];
  expect(sameEverywhere(alike.table)).toEqual(["is_op_tensor_core_eligible", ...measured]);
  expect(sameEverywhere(groupKernels(alike, "kernel"))).toEqual([...measured, "launches", "eligible"]);
  const one = kernelsOf(payload([[1, "gemm", null, null, false, false, "", 2, 60, 30, 20, 40]]));
  expect(sameEverywhere(one.table)).toEqual([]);
});

it("shortens names of kernels in cells and headline, not in the data", () => {
  const add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)";
  const one = kernelsOf(payload([[1, add, null, null, false, false, "", 2, 60, 30, 20, 40]]));
  const column = one.table.columns.find(({ id }) => id === "kernel_name");
  expect([column?.values[0], column?.shorten?.(add)]).toEqual([add, "vectorized_elementwise_kernel<CUDAFunctor_add>"]);
  expect(groupKernels(one, "kernel").columns[0]?.shorten?.(add)).toBe("vectorized_elementwise_kernel<CUDAFunctor_add>");
  expect(summaryOf(one).headline).toBe("vectorized_elementwise_kernel<CUDAFunctor_add> takes 100.0% of the kernel time");
  expect(one.shortName("void of_base<2>(int)")).toBe("of_base");
});

it("groups by kernel and by op", () => {
  const byKernel = groupKernels(KERNELS, "kernel");
  expect(values(byKernel, "name")).toEqual(["gemm", "fusion", "copy"]);
  expect(values(byKernel, "total_duration_us")).toEqual([62, 30, 8]);
  expect(values(byKernel, "min_duration_us")).toEqual([2, 30, 1]);
  expect(values(byKernel, "max_duration_us")).toEqual([40, 30, 3]);
  expect(values(byKernel, "launches")).toEqual([2, 1, 1]);
  expect([values(byKernel, "occupancy_pct"), values(byKernel, "registers_per_thread")]).toEqual([
    [50, null, null],
    [32, null, 8],
  ]);
  expect(values(byKernel, "others")).toEqual(["a/MatMul, b/MatMul", "a/MatMul", null]);
  expect(amounts(KERNELS, "op").map(({ name }) => name)).toEqual(["a/MatMul", "(no op)", "b/MatMul"]);
});

it("filters by kernel and op, a dash for those without one", () => {
  expect(filterKernels(KERNELS, "GEM", "").kernel).toEqual(["gemm", "gemm"]);
  expect(filterKernels(KERNELS, "", "-").kernel).toEqual(["copy"]);
  expect(filterKernels(KERNELS, "", "b/").table.rowCount).toBe(1);
  expect(filterKernels(KERNELS, "", "")).toBe(KERNELS);
});

it("summarises kernel time, tensor cores and time without op names", () => {
  const { headline, lines } = summaryOf(KERNELS);
  expect(headline).toBe("gemm takes 62.0% of the kernel time");
  expect(lines[0]).toMatch(/^3 kernels, 100 us in total\. 62\.0% of the time was on tensor/);
  expect(lines[1]).toMatch(/^30\.0% of the time is in ops that can use them/);
  expect(lines[2]).toMatch(/^8\.0% of the time has no op name/);
});

it("keeps the base of percentages when filters apply", () => {
  const copies = filterKernels(KERNELS, "copy", "");
  expect(summaryOf(copies)).toMatchObject({ headline: "copy takes 8.0% of the kernel time" });
  expect(summaryOf(copies).lines[0]).toMatch(/^1 kernel, 8 us in total \(8\.0% of the kernel time\)\./);
  expect(values(copies.table, "share")).toEqual([0.08]);
  expect(values(groupKernels(copies, "kernel"), "share")).toEqual([0.08]);
});

it("shows launches, kernels and ops of a base; ops also under another number", () => {
  const base = kernelsOf(
    payload([
      [1, "gemm", 32, 50, true, true, "a/MatMul", 2, 50, 25, 20, 40],
      [2, "fusion", 16, null, true, false, "a/MatMul", 1, 31, 31, 31, 31],
      [3, "old", 1, null, false, false, "fusion.3", 1, 4, 4, 4, 4],
    ]),
  );
  const run = kernelsOf(
    payload([
      [1, "gemm", 32, 50, true, true, "a/MatMul", 2, 60, 30, 20, 40],
      [2, "fusion", null, null, true, false, "a/MatMul", 1, 30, 30, 30, 30],
      [3, "new", 1, null, false, false, "fusion.7", 1, 5, 5, 5, 5],
    ]),
  );
  const shown = (group: "launch" | "kernel" | "op") => {
    const table = withBaseKernels(groupKernels(run, group), groupKernels(base, group), group);
    return [values(table, group === "launch" ? "kernel_name" : "name"), values(table, "difference_total_duration_us")];
  };
  expect(shown("launch")).toEqual([
    ["gemm", "fusion", "new", "old"],
    [10, -1, 5, -4],
  ]);
  expect(shown("kernel")).toEqual([
    ["gemm", "fusion", "new", "old"],
    [10, -1, 5, -4],
  ]);
  expect(shown("op")).toEqual([
    ["a/MatMul", "fusion.7"],
    [9, 1],
  ]);
});

it("compares time and runs per step on request, but not the number of launch shapes", () => {
  const [run, base] = [groupKernels(KERNELS, "kernel"), groupKernels(KERNELS, "kernel")];
  const table = withBaseKernels(run, base, "kernel", { run: 2, base: 1 });
  expect(values(table, "total_duration_us")).toEqual([31, 15, 4]);
  expect(values(table, "difference_total_duration_us")).toEqual([-31, -15, -4]);
  expect(values(table, "difference_occurrences")).toEqual([-1.5, -0.5, -2.5]);
  expect(values(table, "launches")).toEqual([2, 1, 1]);
  expect(values(table, "difference_launches")).toEqual([0, 0, 0]);
  expect(values(table, "difference_avg_duration_us")).toEqual([0, 0, 0]);
});
