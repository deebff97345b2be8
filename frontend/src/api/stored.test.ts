// @vitest-environment node
// Stored answers: requests find them whatever their order and defaults, others are told apart from failures.
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { makeClient } from "./client";
import { ApiError } from "./error";
import { STORED_BASE, StoredAnswers, storedFetch, storedKey } from "./stored";

const DEFAULTS = { t: { a: "1", b: "false" } };

function answersOf(bodies: Record<string, [body: string, status: number]>): StoredAnswers {
  const packed = Object.values(bodies).map(([body]) => deflateSync(body));
  let offset = 0;
  const places = Object.entries(bodies).map(([key, [, status]], i) => {
    const place = [offset, packed[i]?.length ?? 0, status] as const;
    offset += packed[i]?.length ?? 0;
    return [key, place] as const;
  });
  const report = { run: "r", base: null, trend: false, version: "1", redacted: null };
  return new StoredAnswers({ report, defaults: DEFAULTS, answers: Object.fromEntries(places) }, new Uint8Array(Buffer.concat(packed)));
}

const client = (answers: StoredAnswers) =>
  makeClient(
    STORED_BASE,
    storedFetch(answers, () => Promise.resolve(null)),
  );

describe("stored answers", () => {
  it("are named by route and parameters without defaults, as the package names them", () => {
    const params: [string, string][] = [
      ["tag", "t"],
      ["b", "true"],
      ["a", "1"],
      ["run", "é"],
    ];
    expect(storedKey("page", params, DEFAULTS)).toBe('["page",["b","true"],["run","é"],["tag","t"]]');
    expect(
      storedKey(
        "run_info",
        [
          ["run", "x"],
          ["a", "1"],
        ],
        DEFAULTS,
      ),
    ).toBe('["run_info",["a","1"],["run","x"]]');
  });

  it("answer the requests of a client", async () => {
    const key = '["page",["run","r"],["tag","t"]]';
    const stored = client(answersOf({ '["config"]': ['{"x":1}', 200], [key]: ["[2]", 200] }));
    expect(await stored.json("config")).toEqual({ x: 1 });
    expect(await stored.json("page", { run: "r", tag: "t", a: 1, b: false, host: undefined })).toEqual([2]);
  });

  it("pass on the errors of the server, and say what is missing", async () => {
    const error = JSON.stringify({ error: { code: "no_data", message: "Nothing.", details: {} } });
    const stored = client(answersOf({ '["config"]': [error, 422] }));
    await expect(stored.json("config")).rejects.toMatchObject({ code: "no_data", status: 422 });
    const missing = await stored.json("__proto__").catch((reason: unknown) => reason);
    expect(missing).toBeInstanceOf(ApiError);
    expect((missing as ApiError).code).toBe("not_in_report");
  });
});
