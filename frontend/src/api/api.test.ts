import { describe, expect, it, vi } from "vitest";
import { makeClient } from "./client";

const answer = (status: number, body: string): Response => new Response(body, { status });

describe("client", () => {
  const base = "http://host/prefix/data/plugin/profile/index.html";

  it("builds URLs relative to the page, without absent parameters", async () => {
    const fetcher = vi.fn(() => Promise.resolve(answer(200, '["a"]')));
    const client = makeClient(base, fetcher);
    expect(await client.json<string[]>("/runs")).toEqual(["a"]);
    expect(client.url("page", { run: "a b/c", tag: "x@", host: null, n: 0, hosts: undefined })).toBe(
      "http://host/prefix/data/plugin/profile/page?run=a+b%2Fc&tag=x%40&n=0",
    );
    expect(fetcher).toHaveBeenCalledWith("http://host/prefix/data/plugin/profile/runs", { credentials: "same-origin" });
  });

  it("throws the server's error", async () => {
    const body = JSON.stringify({ error: { code: "corrupt_profile", message: "bad tag", details: { file: "h.xplane.pb", offset: 12 } } });
    const client = makeClient(base, () => Promise.resolve(answer(422, body)));
    await expect(client.json("page")).rejects.toMatchObject({ status: 422, code: "corrupt_profile", details: { offset: 12 } });
  });

  it("reports an unreachable server and responses that are not JSON", async () => {
    await expect(makeClient(base, () => Promise.reject(new TypeError("net"))).json("runs")).rejects.toMatchObject({ code: "unreachable" });
    await expect(makeClient(base, () => Promise.resolve(answer(200, "<html>"))).json("runs")).rejects.toMatchObject({ code: "bad_answer" });
  });

  it("passes aborts through", async () => {
    const stop = new AbortController();
    const gone = new DOMException("gone", "AbortError");
    const client = makeClient(base, () => {
      stop.abort();
      return Promise.reject(gone);
    });
    await expect(client.json("runs", {}, { signal: stop.signal })).rejects.toBe(gone);
  });
});
