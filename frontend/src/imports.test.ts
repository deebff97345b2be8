// No module reaches itself through its imports, type imports included.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const SRC = import.meta.dirname;
const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const known = new Set(files);

/** The relative names in imports, exports and import(), of types as well. */
function namesIn(text: string): string[] {
  const { importedFiles } = ts.preProcessFile(text, true, true);
  return importedFiles.map(({ fileName }) => fileName).filter((name) => name.startsWith("."));
}

/** The modules below src that a module imports. */
function importsOf(file: string): string[] {
  return namesIn(readFileSync(path.join(SRC, file), "utf8")).flatMap((name) => {
    const target = path.join(path.dirname(file), name);
    return [`${target}.ts`, `${target}.tsx`].filter((candidate) => known.has(candidate));
  });
}

/** The first circle that a walk along the imports meets, as its modules in order; null without one. */
function circle(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): string[] | null => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const next of graph.get(file) ?? []) {
      const found = walk(next, [...trail, file]);
      if (found) return found;
    }
    done.add(file);
    return null;
  };
  for (const file of graph.keys()) {
    const found = walk(file, []);
    if (found) return found;
  }
  return null;
}

it("has no import cycle", () => {
  const graph = new Map(files.map((file) => [file, importsOf(file)]));
  expect([...graph.values()].flat().length).toBeGreaterThan(files.length);
  expect(circle(graph)).toBeNull();
});

it("would detect a cycle", () => {
  expect(
    circle(
      new Map([
        ["a", ["b"]],
        ["b", ["c"]],
        ["c", ["b"]],
      ]),
    ),
  ).toEqual(["b", "c", "b"]);
});

it("counts imports of types", () => {
  const text =
    'import type { A } from "./a";\nimport { type B } from "./b";\nexport type { C } from "./c";\nlet d: import("./d").D;\nimport("./e");';
  expect(namesIn(text)).toEqual(["./a", "./b", "./c", "./d", "./e"]);
});
