import { describe, expect, it } from "vitest";
import { makeTable, numberColumn, textColumn } from "../../base/table/columns";
import { chartOf, proposed, readChoice, writeChoice } from "./chart";
import { choiceFor, excerptOf, hasTime, offsetOf, placeOf, quoted, runsOf, searched, timelineOf } from "./model";

const failure = (details: Record<string, unknown>) => ({ code: "query_failed", message: "", details });

describe("the runs of a query", () => {
  it.each([
    [null, null, ["r"]],
    ["=base", "b", ["r", "b"]],
    ["=base", null, ["r"]],
    ["=base", "r", ["r"]],
    ["*", null, "*"],
    ["train/*", "b", "train/*"],
  ])("choice %s with base %s", (choice, base, runs) => {
    expect(runsOf(choice, "r", base)).toEqual(runs);
  });
});

describe("the runs of an example", () => {
  const none = { run: null, proposed: null };
  const before = { run: null, proposed: "before" };
  it.each([
    ["run", null, before, { runs: null, base: null }],
    ["all", null, before, { runs: "*", base: null }],
    ["pair", null, before, { runs: "=base", base: "before" }],
    ["pair", null, { run: "b", proposed: "before" }, { runs: "=base", base: "b" }],
    ["pair", null, none, { runs: null, base: null }],
    ["pair", "train*", before, { runs: "train*", base: null }],
    ["all", "=base", before, { runs: "=base", base: null }],
  ] as const)("over %s with the choice %s", (over, choice, base, wanted) => {
    expect(choiceFor(over, choice, base)).toEqual(wanted);
  });
});

describe("the place of an error", () => {
  const text = "SELECT a\nFROM nope";

  it("is marked below its line", () => {
    const place = placeOf(failure({ line: 2, column: 6 }));
    expect(excerptOf(text, place)).toBe("2 | FROM nope\n         ^");
    expect(offsetOf(text, { line: 2, column: 6 })).toBe(14);
  });

  it("is cut out of a long line", () => {
    const excerpt = excerptOf("x".repeat(500), { line: 1, column: 301 });
    const [line = "", mark = ""] = excerpt.split("\n");
    expect([line.length, mark.indexOf("^")]).toEqual([4 + 140, 4 + 70]);
  });

  it.each([[{}], [{ line: 0, column: 1 }], [{ line: "2", column: 1 }]])("is unknown in %j", (details) => {
    expect(placeOf(failure(details))).toBeNull();
    expect(excerptOf(text, null)).toBe("");
  });

  it("beyond the text is its end", () => {
    expect(offsetOf(text, { line: 9, column: 9 })).toBe(text.length);
    expect(excerptOf(text, { line: 9, column: 9 })).toBe("");
  });
});

it("names are quoted where SQL needs it", () => {
  expect(["begin_ps", "Group", 'a"b'].map(quoted)).toEqual(["begin_ps", '"Group"', '"a""b"']);
});

describe("a row in the timeline", () => {
  const table = makeTable([
    textColumn("run", "Run", null, ["a", "b"]),
    textColumn("host", "Host", null, ["h", null]),
    textColumn("name", "Name", null, ["op", "mark"]),
    numberColumn("begin_ps", "Begin", "ps", null, [1000, 5]),
    numberColumn("duration_ps", "Duration", "ps", null, [100, 0]),
  ]);

  it("is a span with room around it, or a moment", () => {
    expect(timelineOf(table, 0, null)).toEqual({ run: "a", host: "h", keys: { window: "950,1150", mark: "1000,1100" } });
    expect(timelineOf(table, 1, null)).toEqual({ run: "b", host: null, keys: { marker: "5,mark" } });
  });

  it("needs a time, and a run if there are several", () => {
    const times = makeTable([numberColumn("begin_ps", "Begin", "ps", null, [7])]);
    expect(timelineOf(times, 0, "only")).toEqual({ run: "only", host: null, keys: { marker: "7,row of the query" } });
    expect(timelineOf(times, 0, null)).toBeNull();
    const none = makeTable([textColumn("run", "Run", null, ["a"])]);
    expect([hasTime(times), hasTime(none), timelineOf(none, 0, null)]).toEqual([true, false, null]);
  });
});

it("the search finds tables by name, and columns by name, unit or sentence", () => {
  const column = (id: string, unit: string, sentence: string) => ({ id, type: "number", unit, sentence });
  const tables = [
    { name: "events", summary: "", columns: [column("begin_ps", "ps", "Begin."), column("depth", "", "Level of nesting.")] },
    { name: "steps", summary: "", columns: [column("step", "", "Number of the step.")] },
  ];
  const found = (text: string) => searched(tables, text).map(({ name, columns }) => [name, ...columns.map(({ id }) => id)].join(" "));
  expect(found("")).toEqual(["events begin_ps depth", "steps step"]);
  expect(found("EVENTS")).toEqual(["events begin_ps depth"]);
  expect(found("nest")).toEqual(["events depth"]);
  expect(found("ps begin")).toEqual(["events begin_ps"]);
  expect(found("nothing")).toEqual([]);
});

describe("the chart of a result", () => {
  const table = makeTable([
    textColumn("run", "Run", null, ["r", "r", "r"]),
    textColumn("name", "Name", null, ["b", "a", "c"]),
    numberColumn("step", "Step", null, null, [3, 1, 2]),
    numberColumn("total_ps", "Total", "ps", null, [30, null, 20]),
  ]);

  it("begins with bars of a measure by a text that differs", () => {
    const choice = proposed(table);
    expect(choice).toEqual({ kind: "bars", x: "name", y: "total_ps" });
    expect(choice && chartOf(table, choice)).toEqual({
      note: "",
      spec: {
        kind: "bars",
        colour: 0,
        x: { name: "Name", unit: null, labels: ["b", "a", "c"] },
        y: { name: "Total", unit: "ps" },
        values: [30, null, 20],
      },
    });
  });

  it("orders a line by its numbers", () => {
    const chart = chartOf(table, { kind: "line", x: "step", y: "total_ps" });
    expect(chart?.spec).toMatchObject({ kind: "band", x: { labels: ["1", "2", "3"] }, line: { values: [null, 20, 30] } });
  });

  it("says how much it shows", () => {
    const many = makeTable([
      numberColumn(
        "n",
        "N",
        null,
        null,
        Array.from({ length: 60 }, (_, i) => i),
      ),
    ]);
    expect(chartOf(many, { kind: "bars", x: "n", y: "n" })?.note).toBe("The chart shows the first 50 of 60 rows.");
  });

  it("is in the address, as far as the table has its columns", () => {
    const choice = { kind: "line", x: "step", y: "total_ps" } as const;
    expect(readChoice(writeChoice(choice), table)).toEqual(choice);
    for (const text of ["", "pie~step~total_ps", "line~step~name", "line~nope~total_ps", "%~%~%"])
      expect(readChoice(text, table)).toEqual(proposed(table));
    expect(proposed(makeTable([textColumn("run", "Run", null, ["r"])]))).toBeNull();
  });
});
