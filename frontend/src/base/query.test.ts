import { describe, expect, it } from "vitest";
import { patchQuery, readQuery } from "./query";

describe("query strings", () => {
  it("reads keys", () => {
    expect(readQuery("?run=train%2F2026+a&tool=x", "run")).toBe("train/2026 a");
    expect(readQuery("?run=", "run")).toBeNull();
    expect(readQuery("?run", "run")).toBeNull();
    expect(readQuery("", "run")).toBeNull();
    expect(readQuery("?a=b=c", "a")).toBe("b=c");
    expect(readQuery("?a=%zz", "a")).toBe("%zz");
  });

  it("keeps foreign keys byte for byte", () => {
    expect(patchQuery("?darkMode=true&x=a%2fb&run=old", { run: "a/b 1" })).toBe("?darkMode=true&x=a%2fb&run=a/b%201");
    expect(patchQuery("?f&g=1&g=2", { tool: "trace_viewer@" })).toBe("?f&g=1&g=2&tool=trace_viewer@");
  });

  it("removes keys, including repeated ones", () => {
    expect(patchQuery("?run=1&run=2&tag=x", { run: "3", tag: null })).toBe("?run=3");
    expect(patchQuery("?tag=x", { tag: null })).toBe("");
  });

  it("round-trips odd text", () => {
    const odd = "run with space+é/s&1=%#?";
    expect(readQuery(patchQuery("", { run: odd }), "run")).toBe(odd);
  });
});
