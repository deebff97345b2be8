// What is added to the times of hosts so that their clocks agree: as text in the address, and from an answer.
import { asDict, asNumber } from "../api/payload/fields";

/** Offsets in ps by host from the answer of the communication tool. Throws `bad_answer` naming the field if it is malformed. */
export function readHostOffsets(answer: unknown): Map<string, number> {
  const offsets = asDict(asDict(answer, "the answer about communication")["host_offsets_ps"] ?? {}, "the clocks of hosts");
  return new Map(Object.entries(offsets).map(([host, ps]) => [host, asNumber(ps, `the clock of ${host}`)]));
}

/** The clocks of hosts as the trace viewer takes them: `HOST:PS` joined by commas; "" if none differs. */
export function clocksText(offsets: ReadonlyMap<string, number>): string {
  return [...offsets]
    .filter(([, ps]) => ps !== 0)
    .map(([host, ps]) => `${host}:${ps}`)
    .join(",");
}
