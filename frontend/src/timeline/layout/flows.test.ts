import { expect, it } from "vitest";
import { ALL_FLOWS, shownFlows } from "./flows";

it("leaves out flows of hidden kinds, or all", () => {
  const flows = [
    { id: "1", category: "tf_exec", ends: [] },
    { id: "2", category: "", ends: [] },
  ];
  const left = (...hidden: string[]) => shownFlows(flows, new Set(hidden)).map(({ id }) => id);
  expect([left(), left("tf_exec"), left(""), left(ALL_FLOWS)]).toEqual([["1", "2"], ["2"], ["1"], []]);
});
