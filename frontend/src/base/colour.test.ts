import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CATEGORICAL, categoryColour, contrast, hashText, nameColour, parseHex, textOn, toHex, utilisationColour } from "./colour";

const TOKENS = readFileSync(`${process.cwd()}/src/app/theme/tokens.css`, "utf8");

/** Colour tokens of one block of tokens.css. */
function tokens(selector: string): Record<string, string> {
  const block = TOKENS.slice(TOKENS.indexOf(selector)).split("}")[0] ?? "";
  return Object.fromEntries([...block.matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1] ?? "", m[2] ?? ""]));
}

describe("colours by name", () => {
  it("are stable", () => {
    expect(hashText("")).toBe(0x811c9dc5);
    expect(hashText("a")).toBe(0xe40c292c);
    expect(nameColour("fusion.1")).toBe(nameColour("fusion.1"));
    expect(nameColour("fusion.1", "dark")).not.toBe(nameColour("fusion.1", "light"));
  });

  it("repeat after eight", () => {
    expect(categoryColour(0)).toBe("#0072b2");
    expect(categoryColour(8)).toBe("#0072b2");
    expect(categoryColour(-1)).toBe("#7a5ba8");
  });

  it("survive the round through hex", () => {
    expect(toHex(parseHex("#56b4e9"))).toBe("#56b4e9");
  });
});

describe("utilisation", () => {
  it("goes from red to green and clamps", () => {
    expect(utilisationColour(0)).toBe("#b5342b");
    expect(utilisationColour(-1)).toBe("#b5342b");
    expect(utilisationColour(0.5)).toBe("#e8b93e");
    expect(utilisationColour(2)).toBe("#2aa585");
  });
});

describe("tokens.css", () => {
  it.each([
    ["light", ":root {"],
    ["dark", ':root[data-theme="dark"] {'],
  ] as const)("keeps %s text readable and the palette equal", (theme, selector) => {
    const t = tokens(selector);
    for (const ground of ["--bg", "--bg-raised", "--bg-sunken", "--bg-hover", "--bg-selected"]) {
      for (const text of ["--text", "--text-dim"]) {
        expect(contrast(t[text] ?? "", t[ground] ?? ""), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
    }
    for (const [text, ground] of [
      ["--error", "--error-bg"],
      ["--warn", "--warn-bg"],
      ["--accent", "--bg"],
      ["--accent", "--bg-sunken"],
      ["--accent-text", "--accent"],
      ["--ok", "--bg"],
      ["--text", "--share"],
    ] as const) {
      expect(contrast(t[text] ?? "", t[ground] ?? ""), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
    expect(Array.from({ length: 8 }, (_, i) => t[`--cat-${i + 1}`])).toEqual(CATEGORICAL[theme]);
  });

  it("picks readable text on every hue", () => {
    for (const hue of [...CATEGORICAL.light, ...CATEGORICAL.dark]) {
      expect(contrast(hue, textOn(hue))).toBeGreaterThanOrEqual(4.5);
    }
  });
});
