import { describe, expect, it } from "vitest";
import {
  cutMiddle,
  formatBytes,
  formatCount,
  formatDate,
  formatExact,
  formatPercent,
  formatQuantity,
  formatTime,
  plural,
  sessionTime,
} from "./format";

describe("formatTime", () => {
  it.each([
    [0, "0 ns"],
    [1, "0.001 ns"],
    [500, "0.500 ns"],
    [1_000, "1 ns"],
    [999_949, "999.9 ns"],
    [999_960, "1.000 us"],
    [1_234_567, "1.235 us"],
    [12_345_678, "12.35 us"],
    [123_456_789, "123.5 us"],
    [1_234_567_890, "1.235 ms"],
    [5_000_000_000, "5 ms"],
    [1.5e12, "1.500 s"],
    [7200e12, "7200 s"],
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
    [1023, "1023 B"],
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

describe("texts", () => {
  it("formats counts and percents", () => {
    expect(formatCount(100000)).toBe("100,000");
    expect(formatCount(0.00001)).toBe("1.00e-5");
    expect(formatPercent(0)).toBe("0.0%");
    expect(plural(1, "host")).toBe("1 host");
    expect(plural(2, "host")).toBe("2 hosts");
  });

  it("keeps the exact value with its unit", () => {
    expect(formatExact(1234.56789, "us")).toBe("1234.56789 us");
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
