import { describe, expect, it } from "vitest";
import { findLines, opcodes, pieces, readHlo, splitTop } from "./hlo_text";
import { LONG, SHORT } from "../testing";

const hlo = readHlo(SHORT);
const index = (name: string): number => hlo.byName.get(name) ?? -1;
const names = (list: readonly number[]): string[] => list.map((i) => hlo.instructions[i]?.name ?? "");

describe("HLO text", () => {
  it("parses computations and instructions", () => {
    expect(hlo.computations.map(({ name, entry, line }) => [name, entry, line])).toEqual([
      ["fused_computation", false, 2],
      ["add", false, 9],
      ["main", true, 15],
    ]);
    expect(hlo.instructions).toHaveLength(13);
    expect(hlo.instructions[index("reduce")]).toMatchObject({ opcode: "reduce", shape: "f32[4]{0}", root: true, computation: 2, line: 21 });
    expect(hlo.instructions[index("pair")]).toMatchObject({ opcode: "tuple", shape: "(f32[4,2]{1,0}, f32[])" });
  });

  it("links operands, users and calls", () => {
    expect(names(hlo.instructions[index("reduce")]?.operands ?? [])).toEqual(["fusion", "zero"]);
    expect(names(hlo.instructions[index("fusion")]?.users ?? [])).toEqual(["pair", "reduce"]);
    expect(hlo.instructions[index("fusion")]?.calls).toEqual([0]);
    expect(names(hlo.computations[1]?.callers ?? [])).toEqual(["reduce"]);
    // A name within quotes is no use of it.
    expect(names(hlo.instructions[index("p0")]?.users ?? [])).toEqual(["fusion"]);
  });

  it("parses the long form: percent signs, shapes of operands, tiles", () => {
    const long = readHlo(LONG);
    expect(long.computations.map(({ name }) => name)).toEqual(["fused", "main.22"]);
    const start = long.instructions[long.byName.get("copy-start") ?? -1];
    expect(start).toMatchObject({ opcode: "copy-start", shape: "(f32[5]{0:T(256)}, f32[5]{0:T(256)S(5)}, u32[]{:S(2)})" });
    const done = long.instructions[long.byName.get("copy-done") ?? -1];
    expect(done?.operands).toEqual([long.byName.get("copy-start")]);
    expect(long.instructions[long.byName.get("fusion") ?? -1]?.calls).toEqual([0]);
  });

  it("cuts lines into text and links", () => {
    const line = pieces(hlo, 18);
    expect(line.map(({ text }) => text).join("")).toBe(hlo.lines[18]);
    expect(line.filter(({ kind }) => kind === "definition").map(({ target }) => target)).toEqual(["fusion"]);
    expect(line.filter(({ kind }) => kind === "link").map(({ target }) => target)).toEqual(["p0", "p1", "fused_computation"]);
    const last = pieces(hlo, 21);
    expect(last.filter(({ kind }) => kind === "link").map(({ target }) => target)).toEqual(["fusion", "zero", "add"]);
    expect(last.map(({ text }) => text).join("")).toBe(hlo.lines[21]);
    expect(pieces(hlo, 2).map(({ kind }) => kind)).toEqual(["plain", "definition", "plain"]);
    expect(pieces(hlo, 0)).toEqual([{ text: hlo.lines[0], kind: "plain", target: null }]);
  });

  it("searches, counts and splits", () => {
    expect(findLines(hlo.lines, "FUSION")).toEqual([18, 20, 21]);
    expect(findLines(hlo.lines, " ")).toEqual([]);
    expect(opcodes(hlo)[0]).toEqual(["parameter", 6]);
    expect(splitTop("f32[1,2]{1,0} %a, (b, c), d")).toEqual(["f32[1,2]{1,0} %a", "(b, c)", "d"]);
  });

  it("accepts any text", () => {
    expect(readHlo("").instructions).toEqual([]);
    expect(readHlo("}\n{\n  a = \n x y z").instructions).toEqual([]);
  });
});
