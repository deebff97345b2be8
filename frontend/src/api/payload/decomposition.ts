// Decodes the decomposition of step time that several tools send.
import type { Decomposition, Group, Label } from "../../base/steps/decomposition";
import { asDict, asList, asNumber, asText, badAnswer } from "./fields";
import type { Dict } from "./fields";

const WHAT = "the decomposition";

function texts(value: unknown, what: string): string[] {
  return asList(value ?? [], what).map((one) => asText(one, what));
}

/** Numbers, of the given length if there is one. */
export function numbersIn(value: unknown, what: string, count?: number): number[] {
  const list = asList(value ?? [], what).map((one) => asNumber(one, what));
  if (count !== undefined && list.length !== count) throw badAnswer(`${what} do not have the expected length`);
  return list;
}

function labelOf(id: string, value: unknown): Label {
  const label = asDict(value ?? {}, `the label of ${id}`);
  return { id, name: asText(label["name"] ?? id, `the name of ${id}`), help: asText(label["help"] ?? "", `the meaning of ${id}`) };
}

/** Decodes categories, with the names of their parts. */
export function readGroups(groups: unknown, labels: unknown): Group[] {
  const names = asDict(labels ?? {}, "the labels of parts");
  return asList(groups, "the categories").map((one) => {
    const group = asDict(one, "a category");
    const parts = texts(group["parts"], "the parts of a category").map((id) => labelOf(id, names[id]));
    return { ...labelOf(asText(group["id"], "the id of a category"), group), parts };
  });
}

function entries(value: unknown, what: string): [string, unknown][] {
  return Object.entries(asDict(value ?? {}, what));
}

function readSteps(steps: Dict): Decomposition["steps"] {
  const names = texts(steps["name"], "the names of steps");
  const column = (key: string): number[] => numbersIn(steps[key], `${key} of the steps`, names.length);
  return {
    names,
    durationPs: column("duration_ps"),
    partsPs: new Map(
      entries(steps["parts_ps"], "the parts of steps").map(([id, ps]) => [id, numbersIn(ps, `${id} of the steps`, names.length)]),
    ),
    slowest: column("slowest"),
    beginPs: column("begin_ps"),
    endPs: column("end_ps"),
  };
}

/** Decodes the object; throws `bad_answer` naming the field if it is malformed. */
export function readDecomposition(value: unknown): Decomposition {
  const dict = asDict(value, WHAT);
  return {
    base: asText(dict["base"], `the base of ${WHAT}`),
    basePs: asNumber(dict["base_ps"], `the base of ${WHAT}`),
    stepPs: asNumber(dict["step_ps"], `the step of ${WHAT}`),
    source: asText(dict["source"] ?? "", `the source of ${WHAT}`),
    leftOut: asNumber(dict["left_out"] ?? 0, "the number of steps left out"),
    groups: readGroups(dict["groups"], dict["labels"]),
    averagePs: new Map(entries(dict["average_ps"], "the average step").map(([id, ps]) => [id, asNumber(ps, `${id} of the average step`)])),
    steps: readSteps(asDict(dict["steps"] ?? {}, "the steps")),
    devices: asList(dict["devices"] ?? [], "the devices").map((one) => {
      const device = asDict(one, "a device");
      const text = (key: string): string => asText(device[key], `the ${key} of a device`);
      return { name: text("name"), host: text("host"), kind: text("kind"), steps: asNumber(device["steps"], "the steps of a device") };
    }),
  };
}
