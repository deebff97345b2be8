import { expect, it } from "vitest";
import { readFilters, readHidden, readSort, writeFilters, writeHidden, writeSort } from "./saved";

const known = new Set(["time", "name", "a,b~c"]);

it("keeps the sorting", () => {
  const sort = [
    { id: "time", desc: true },
    { id: "a,b~c", desc: false },
  ];
  expect(writeSort(sort)).toBe("-time,a\\,b\\~c");
  expect(readSort(writeSort(sort), known)).toEqual(sort);
  expect(readSort("-gone,name", known)).toEqual([{ id: "name", desc: false }]);
  expect(writeSort([])).toBeNull();
  expect(readSort(null, known)).toEqual([]);
});

it("keeps filters with odd texts", () => {
  const filters = [
    { id: "name", value: "/a;b~c\\d,e/" },
    { id: "time", value: "> 1 ms" },
  ];
  expect(readFilters(writeFilters(filters), known)).toEqual(filters);
  expect(writeFilters([{ id: "name", value: "" }])).toBeNull();
});

it("keeps hidden columns", () => {
  expect(readHidden(writeHidden(["name", "a,b~c"]), known)).toEqual(["name", "a,b~c"]);
});
