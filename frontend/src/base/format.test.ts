import { describe, expect, it } from "vitest";
import {
  cutMiddle,
  formatBytes,
  formatCount,
  formatDate,
  formatDoubtful,
  formatExact,
  formatPercent,
  formatQuantity,
  formatRatio,
  formatTime,
  mostIn,
  formatColumns,
  formatTogether,
  plural,
  sessionTime,
} from "./format";

describe("formatTime", () => {
  it.each([
    [0, "0 ns"],
    [1, "0.001 ns"],
    [500, "0.5 ns"],
    [123, "0.123 ns"],
    [1_000, "1 ns"],
    [999_949, "999.9 ns"],
    [999_960, "1.000 us"],
    [1_234_567, "1.235 us"],
    [12_345_678, "12.35 us"],
    [123_456_789, "123.5 us"],
    [1_234_567_890, "1.235 ms"],
    [5_000_000_000, "5 ms"],
    [1.5e12, "1.500 s"],
    [7200e12, "7,200 s"],
    [-2_500_000, "-2.500 us"],
  ])("%d ps is %s", (ps, text) => {
    expect(formatTime(ps)).toBe(text);
  });

  it("shows missing values as missing, not as 0", () => {
    expect(formatTime(null)).toBe("-");
    expect(formatTime(Number.NaN)).toBe("-");
    expect(formatTime(undefined)).toBe("-");
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [1023, "1,023 B"],
    [1024, "1 KiB"],
    [1536, "1.500 KiB"],
    [1024 ** 2 - 1, "1.000 MiB"],
    [78 * 1024 ** 2, "78 MiB"],
    [17_179_869_184, "16 GiB"],
    [3.3 * 1024 ** 4, "3.300 TiB"],
  ])("%d bytes is %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});

describe("formatQuantity", () => {
  it.each<[number | null, string | null, string]>([
    [1.5, "us", "1.500 us"],
    [2500, "us", "2.500 ms"],
    [0.25, "ms", "250 us"],
    [12.345, "percent", "12.3%"],
    [0.5, "fraction", "50.0%"],
    [2048, "bytes", "2 KiB"],
    [0.5, "GiB/s", "512 MiB/s"],
    [1234.6, "GFLOP/s", "1.235 TFLOP/s"],
    [0.002, "GFLOP/s", "2 MFLOP/s"],
    [940, "MHz", "940 MHz"],
    [12, "steps", "12 steps"],
    [1234567, null, "1,234,567"],
    [null, "us", "-"],
  ])("%s %s is %s", (value, unit, text) => {
    expect(formatQuantity(value, unit)).toBe(text);
  });
});

describe("formatColumns", () => {
  const columns = (...all: [(number | null)[], string | null][]): string[][] => {
    const formats = formatColumns(all.map(([values, unit]) => ({ values, unit })));
    return all.map(([values], i) => values.map((value) => formats[i]?.(value) ?? ""));
  };

  it("has one unit for what compares, of zeros too, whatever unit the numbers are in", () => {
    expect(columns([[21.45, 14.49], "ms"], [[0, 0], "us"], [[900_000, 20_000], "ns"], [[3], null])).toEqual([
      ["21.45 ms", "14.49 ms"],
      ["0 ms", "0 ms"],
      ["0.9 ms", "0.02 ms"],
      ["3"],
    ]);
  });

  it("has another for what would be hard to read in it, and for another quantity", () => {
    expect(columns([[5e6, 4e6], "us"], [[2, 3], "us"], [[1, 4], "us"], [[2048], "bytes"], [[2048], "B/s"])).toEqual([
      ["5 s", "4 s"],
      ["2 us", "3 us"],
      ["1 us", "4 us"],
      ["2 KiB"],
      ["2 KiB/s"],
    ]);
    expect(columns([[0, 0], "us"])).toEqual([["0 ns", "0 ns"]]);
  });
});

describe("formatTogether", () => {
  const together = (values: (number | null)[], unit: string | null): string[] => values.map(formatTogether(values, unit));

  it("shows one unit for all times, whatever their size", () => {
    expect(together([7945, 8, 0.25, null, 0], "us")).toEqual(["7,945 us", "8 us", "0.25 us", "-", "0 us"]);
    expect(together([158_061_934.06, 6_254_874.4, 8_887.53, 4.72, 4.72], "us").slice(0, 4)).toEqual([
      "158,062 ms",
      "6,255 ms",
      "8.888 ms",
      "0.00472 ms",
    ]);
    expect(together([5_200, 3_100, 1_000], "us")).toEqual(["5.200 ms", "3.100 ms", "1 ms"]);
    expect(together([2, 3 * 2 ** 30, 4 * 2 ** 30, -32], "bytes")).toEqual(["<0.001 GiB", "3 GiB", "4 GiB", ">-0.001 GiB"]);
  });

  it("is not led by one long time among many short ones", () => {
    const values = [5000, ...Array.from({ length: 99 }, (_, i) => 2 + i / 100)];
    expect(together(values, "us").slice(0, 2)).toEqual(["5,000 us", "2 us"]);
  });

  it("does the same for bytes and rates, and leaves other units alone", () => {
    expect(together([2048, 1536, 1023], "bytes")).toEqual(["2 KiB", "1.500 KiB", "0.999 KiB"]);
    expect(together([1234.6, 2], "GFLOP/s")).toEqual(["1.235 TFLOP/s", "0.002 TFLOP/s"]);
    expect(together([0.5, 0.001], "fraction")).toEqual(["50.0%", "0.1%"]);
    expect(together([1, 20000], null)).toEqual(["1", "20,000"]);
    expect(together([], "us")).toEqual([]);
  });
});

describe("texts", () => {
  it("formats counts and percents", () => {
    expect(formatCount(100000)).toBe("100,000");
    expect(formatCount(0.25365715195887883)).toBe("0.2537");
    expect(formatCount(0.00001)).toBe("0.00001");
    expect(formatCount(0.000000123456)).toBe("1.235e-7");
    expect(formatPercent(0)).toBe("0.0%");
    expect([formatPercent(1234.56), formatDoubtful(1234.56), formatDoubtful(250)]).toEqual(["1,235%", "-", "⚠ 250.0%"]);
    expect([1.55, 9.96, 1234.5].map(formatRatio)).toEqual(["1.6", "10", "1,235"]);
    expect(plural(1, "host")).toBe("1 host");
    expect(plural(2, "host")).toBe("2 hosts");
  });

  it("keeps the exact value with its unit", () => {
    expect(formatExact(1234.56789, "us")).toBe("1,234.56789 us");
    expect(formatExact(158061934.061027, "us")).toBe("158,061,934.061027 us");
    expect(formatExact(0.25365715195887883, "fraction")).toBe("25.3657151958879 %");
    expect(formatExact(12345678901234568, "bytes")).toBe("12,345,678,901,234,568 bytes");
    expect(formatExact(1.5e-9, "s")).toBe("1.5e-9 s");
    expect(formatExact("fusion.1", "us")).toBe("fusion.1");
    expect(formatExact(null)).toBe("-");
    expect(formatExact(false)).toBe("false");
  });

  it("cuts the middle", () => {
    expect(cutMiddle("short", 10)).toBe("short");
    expect(cutMiddle("abcdefghijklmnop", 10)).toBe("abcdef…nop");
  });

  it("reads the time of a session name", () => {
    const ms = sessionTime("train/2026_11_20_08_58_45");
    expect(ms === null ? null : formatDate(ms)).toBe("2026-11-20 08:58:45");
    expect(sessionTime("baseline")).toBeNull();
    expect(sessionTime("2026_13_41_99_00_00")).toBeNull();
  });
});

it("only what has more than half is most of it", () => {
  expect([mostIn("dot", 0.51, ", on chips"), mostIn("dot", 0.4, ", on chips")]).toEqual([
    ", most of it in dot, on chips",
    "; dot has the largest part, 40.0% of it, on chips",
  ]);
  expect([mostIn("dot", 0.51), mostIn("dot", 0.5)]).toEqual([", most of it in dot", "; dot has the largest part, 50.0% of it"]);
});
