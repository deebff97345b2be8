// Decodes the answer about communication: collectives, steps, ranks, stragglers, clocks and launches.
import { asDict, asList, asNumber, asTable, asText } from "../../api/payload/fields";
import type { TableData } from "../../base/table/table_data";
import { readHostOffsets } from "../../page/clocks";

export interface StepTime {
  name: string;
  beginPs: number;
  /** Summed over devices. */
  communicationPs: number;
  exposedPs: number;
  /** Null without communication. */
  hiddenPercent: number | null;
}

interface Straggler {
  device: string;
  /** Share of all waits that others spent waiting for it, in percent. */
  caused: number;
  /** It has clearly more work than the others. */
  moreWork: boolean;
  /** Own work over the median; null: the median is 0. */
  ratio: number | null;
  /** The others' time in collectives over its own. */
  waits: number | null;
}

export interface Communication {
  ops: TableData;
  steps: readonly StepTime[];
  ranks: TableData;
  /** What communication takes of the average step without being hidden, 0 to 1, and of what; null without steps. */
  cost: { share: number; base: string } | null;
  stragglers: readonly Straggler[];
  lateHosts: readonly string[];
  clocks: TableData;
  /** What to add to the times of each host so that the clocks agree with that of the first one. */
  hostOffsets: ReadonlyMap<string, number>;
  /** Runs that ended before the last rank began. */
  earlyEnds: number;
  launches: TableData;
  notes: readonly string[];
}

function optional(value: unknown, what: string): number | null {
  return value === null || value === undefined ? null : asNumber(value, what);
}

function readCost(value: unknown): Communication["cost"] {
  if (value === null || value === undefined) return null;
  const cost = asDict(value, "the cost of communication");
  return { share: asNumber(cost["share"], "the share of communication"), base: asText(cost["base"], "the base of that share") };
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readCommunication(value: unknown): Communication {
  const answer = asDict(value, "the communication");
  return {
    ops: asTable(answer["ops"], "the table of collectives"),
    steps: asList(answer["steps"], "the steps").map((one) => {
      const step = asDict(one, "a step");
      return {
        name: asText(step["name"], "the name of a step"),
        beginPs: asNumber(step["begin_ps"], "the begin of a step"),
        communicationPs: asNumber(step["communication_ps"], "the communication of a step"),
        exposedPs: asNumber(step["exposed_ps"], "the exposed communication of a step"),
        hiddenPercent: optional(step["hidden_percent"], "the hidden share of a step"),
      };
    }),
    cost: readCost(answer["cost"]),
    ranks: asTable(answer["ranks"], "the table of devices"),
    stragglers: asList(answer["stragglers"], "the stragglers").map((one) => {
      const straggler = asDict(one, "a straggler");
      return {
        device: asText(straggler["device"], "the name of a straggler"),
        caused: asNumber(straggler["caused_percent"], "the waits for a straggler"),
        moreWork: straggler["more_work"] === true,
        ratio: optional(straggler["work_ratio"], "the work of a straggler"),
        waits: optional(straggler["waits_ratio"], "the time of the others in collectives"),
      };
    }),
    lateHosts: asList(answer["late_hosts"] ?? [], "the late hosts").map((one) =>
      asText(asDict(one, "a late host")["host"], "the name of a late host"),
    ),
    clocks: asTable(answer["clocks"], "the table of clocks"),
    hostOffsets: readHostOffsets(answer),
    earlyEnds: asNumber(answer["early_ends"] ?? 0, "the number of early ends"),
    launches: asTable(answer["launches"], "the table of launches"),
    notes: asList(answer["notes"] ?? [], "the notes").map((note) => asText(note, "a note")),
  };
}
