import { describe, expect, it } from "vitest";
import { decodeContainer, PayloadError } from "./payload";
import { encodeContainer, encodeTrace } from "../testing/synthetic";
import { boxName, decodeTrace, isDevice, sectionEvents } from "./trace";

const answer = (): ArrayBuffer =>
  encodeContainer({ hello: 1 }, { a: Float64Array.of(1.5, 2.5), b: Uint16Array.of(7), c: Uint32Array.of(9, 8, 7) });

describe("container", () => {
  it("gives header and columns back, each 8-aligned", () => {
    const { header, arrays } = decodeContainer(answer());
    expect(header["hello"]).toBe(1);
    expect([...(arrays.get("a") ?? [])]).toEqual([1.5, 2.5]);
    expect([...(arrays.get("b") ?? [])]).toEqual([7]);
    expect([...(arrays.get("c") ?? [])]).toEqual([9, 8, 7]);
  });

  it("rejects a wrong magic number", () => {
    const bytes = answer();
    new Uint8Array(bytes)[0] = 0x58;
    expect(() => decodeContainer(bytes)).toThrow("does not begin with TPC1");
  });

  it("rejects every truncation with a PayloadError", () => {
    const whole = answer();
    for (let length = 0; length < whole.byteLength; length++) {
      const cut = whole.slice(0, length);
      try {
        decodeContainer(cut);
        // only the padding after the last array may be missing
        expect(length).toBeGreaterThanOrEqual(whole.byteLength - 4);
      } catch (error) {
        expect(error).toBeInstanceOf(PayloadError);
      }
    }
  });

  it("rejects a header that is not a JSON object, and unaligned offsets", () => {
    const bad = (text: string): ArrayBuffer => {
      const buffer = new ArrayBuffer(8 + text.length);
      new DataView(buffer).setUint32(0, 0x31435054, true);
      new DataView(buffer).setUint32(4, text.length, true);
      new Uint8Array(buffer).set(new TextEncoder().encode(text), 8);
      return buffer;
    };
    expect(() => decodeContainer(bad("not json"))).toThrow("header is not JSON");
    expect(() => decodeContainer(bad("[1]     "))).toThrow("header is not an object");
    expect(() => decodeContainer(bad('{"arrays":{"a":{"type":"u8","offset":1,"length":0}}}    '))).toThrow(PayloadError);
    expect(() => decodeContainer(bad('{"arrays":{"a":{"type":"f64","offset":0,"length":99}}}  '))).toThrow("the response at");
  });

  it("skips columns of unknown types", () => {
    const bytes = answer();
    const text = new TextDecoder().decode(bytes).replace('"u16"', '"q16"');
    const copy = new Uint8Array(bytes.slice(0));
    copy.set(new TextEncoder().encode(text.slice(8, 200)).slice(0, 150), 8);
    expect(decodeContainer(copy.buffer).arrays.has("b")).toBe(false);
  });
});

describe("trace", () => {
  const spec = {
    sections: [
      {
        pid: 3,
        name: "/device:TPU:0",
        host: "vm",
        tracks: [
          {
            tid: 1,
            name: "Ops",
            boxes: [
              { begin: 10, duration: 5, name: "a" },
              { begin: 11, duration: 2, name: "b", row: 1 },
              { begin: 20, duration: 9, name: "a", count: 4 },
            ],
          },
        ],
      },
      {
        pid: 701,
        name: "/host:CPU",
        tracks: [
          { tid: 9, name: "", boxes: [] },
          { tid: 10, name: "python", boxes: [{ begin: 0, duration: 0, name: "b" }] },
        ],
      },
    ],
  };

  it("indexes rows and sections", () => {
    const trace = decodeTrace(encodeTrace(spec));
    expect(trace.sections.map(({ name, title }) => [name, title])).toEqual(spec.sections.map(({ name }) => [name, name]));
    expect([...trace.rowBase]).toEqual([0, 2, 3, 4]);
    expect([...trace.rowStart]).toEqual([0, 2, 3, 3, 4]);
    expect(trace.tracks.map((t) => [t.pid, t.tid, t.rows, t.section])).toEqual([
      [3, 1, 2, 0],
      [701, 9, 1, 1],
      [701, 10, 1, 1],
    ]);
    expect(trace.strings).toEqual(["a", "b"]);
    expect(trace.mergedEvents).toBe(4);
    expect([boxName(trace, 0), boxName(trace, 1), trace.strings[trace.name[1]!]]).toEqual(["a", null, "a"]);
    expect(trace.sections.map((section) => [isDevice(section), sectionEvents(trace, section)])).toEqual([
      [true, 6],
      [false, 1],
    ]);
    expect(trace.steps).toBeNull();
  });

  it("reads counters and steps when present", () => {
    const trace = decodeTrace(
      encodeTrace({
        sections: [
          {
            pid: 1,
            name: "x",
            tracks: [
              {
                tid: 1,
                name: "HBM",
                kind: "counter",
                unit: "bytes",
                samples: [
                  [0, 5],
                  [10, 7],
                ],
              },
            ],
          },
        ],
        full: [0, 20],
        steps: [[0, 10, "step 1"]],
      }),
    );
    expect(trace.tracks[0]).toMatchObject({ kind: "counter", unit: "bytes" });
    expect([...(trace.counters?.value ?? [])]).toEqual([5, 7]);
    expect(trace.strings[trace.steps?.name[0] ?? -1]).toBe("step 1");
  });

  it("rejects boxes that are out of order or below the last row", () => {
    const one = { pid: 1, name: "x", tracks: [{ tid: 1, name: "t", rows: 1, boxes: [{ begin: 0, duration: 1, name: "a", row: 3 }] }] };
    expect(() => decodeTrace(encodeTrace({ sections: [one] }))).toThrow("not sorted by row");
  });

  it("rejects another version with a readable message", () => {
    for (const version of [1, 3]) expect(() => decodeTrace(encodeContainer({ version }, {}))).toThrow("reload the page");
  });
});
