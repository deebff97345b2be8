import { describe, expect, it } from "vitest";
import { chromeFile, readChromeTrace } from "./chrome_trace";
import { perfettoFile } from "./perfetto";
import { ProtoWriter } from "./proto_writer";

type Field = readonly [number, bigint | Uint8Array];

/** A plain reader of the wire format, written from its description: the check on the writer. */
function fields(bytes: Uint8Array): Field[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    if ((key & 7) === 0) found.push([key >> 3, varint()]);
    else if ((key & 7) === 1) {
      found.push([key >> 3, view.getBigUint64(at, true)]);
      at += 8;
    } else {
      const length = Number(varint());
      found.push([key >> 3, bytes.subarray(at, at + length)]);
      at += length;
    }
  }
  return found;
}

const get = (list: readonly Field[], field: number) => list.find(([f]) => f === field)?.[1];
const inner = (list: readonly Field[], field: number) => fields((get(list, field) ?? new Uint8Array()) as Uint8Array);
const decodeText = (value: unknown) => new TextDecoder().decode(value as Uint8Array);

/** Packets as short texts. */
function packetTexts(bytes: Uint8Array): string[] {
  const names = new Map<bigint, string>();
  return fields(bytes).map(([, packet]) => {
    const p = fields(packet as Uint8Array);
    if (get(p, 60)) {
      const d = inner(p, 60);
      const name = get(d, 3) ? decodeText(get(inner(d, 3), 6)) : decodeText(get(d, 2));
      const uuid = get(d, 1) as bigint;
      names.set(uuid, `${name}/${uuid}`);
      return `track ${name}/${uuid} in ${String(get(d, 5) ?? "-")}${get(d, 8) ? " counter" : ""}`;
    }
    const e = inner(p, 11);
    const type = ["", "begin", "end", "instant", "counter"][Number(get(e, 9))];
    const flow = get(e, 47) === undefined ? "" : ` flow ${String(get(e, 47))}`;
    const note = get(e, 4) ? ` ${decodeText(get(inner(e, 4), 10))}=${decodeText(get(inner(e, 4), 6))}` : "";
    return `${String(get(p, 8))} ${type} ${names.get(get(e, 11) as bigint)}${get(e, 23) ? ` ${decodeText(get(e, 23))}` : ""}${note}${flow}`;
  });
}

const trace = readChromeTrace(
  JSON.stringify({
    traceEvents: [
      { ph: "M", pid: 3, name: "process_name", args: { name: "/device:TPU:0" } },
      { ph: "M", pid: 3, tid: 1, name: "thread_name", args: { name: "XLA Ops" } },
      { ph: "M", pid: 3, tid: 1, name: "thread_sort_index", args: { sort_index: 1 } },
      { ph: "X", pid: 3, tid: 1, name: "outer", ts: 1, dur: 10, bind_id: "9877841622424448" },
      { ph: "X", pid: 3, tid: 1, name: "inner", ts: 2, dur: 3, args: { hlo: "fusion" } },
      { ph: "X", pid: 3, tid: 1, name: "across", ts: 4, dur: 20 },
      { ph: "i", pid: 3, tid: 1, name: "now", ts: 5, s: "t" },
      {
        ph: "C",
        pid: 3,
        name: "HBM",
        entries: [
          [1, 5],
          [2, 6],
        ],
      },
      {},
    ],
  }),
);

describe("perfetto file", () => {
  it("nests slices, moves overlapping ones to a further track, keeps flows, args and counters", () => {
    expect(packetTexts(perfettoFile(trace))).toEqual([
      "track /device:TPU:0/1 in -",
      "track XLA Ops/2 in 1",
      "1000 begin XLA Ops/2 outer flow 9877841622424448",
      "2000 begin XLA Ops/2 inner hlo=fusion",
      "track XLA Ops/3 in 1",
      "4000 begin XLA Ops/3 across",
      "5000 end XLA Ops/2",
      "5000 instant XLA Ops/2 now",
      "11000 end XLA Ops/2",
      "24000 end XLA Ops/3",
      "track HBM/4 in 1 counter",
      "1000 counter HBM/4",
      "2000 counter HBM/4",
    ]);
  });

  it("begins its sequence with cleared state", () => {
    const [first, second] = fields(perfettoFile(trace)).map(([, p]) => fields(p as Uint8Array));
    expect([get(first ?? [], 10), get(first ?? [], 13), get(second ?? [], 13)]).toEqual([1n, 1n, undefined]);
  });
});

describe("wire", () => {
  it("writes varints of every size", () => {
    for (const value of [0, 1, 127, 128, 300, 2 ** 31, 2 ** 32 + 5, 2 ** 53 - 1]) {
      expect(fields(new ProtoWriter().uint(1, value).finish())).toEqual([[1, BigInt(value)]]);
    }
    expect(fields(new ProtoWriter().uint(3, 2n ** 64n - 1n).finish())).toEqual([[3, 2n ** 64n - 1n]]);
    expect(fields(new ProtoWriter().int(2, -1).finish())).toEqual([[2, 2n ** 64n - 1n]]);
  });
});

describe("chrome file", () => {
  it("has one event per counter sample and no empty element", () => {
    const { traceEvents } = JSON.parse(chromeFile(trace)) as { traceEvents: { ph: string; ts?: number }[] };
    expect(traceEvents.filter((e) => e.ph === "C")).toMatchObject([
      { ts: 1, args: { value: 5 } },
      { ts: 2, args: { value: 6 } },
    ]);
    expect(traceEvents.every((e) => e.ph)).toBe(true);
    expect(() => readChromeTrace("{}")).toThrow("no traceEvents");
  });
});
