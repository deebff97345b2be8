import { beforeEach, describe, expect, it } from "vitest";
import { makeClient } from "../api/client";
import type { Finding } from "../base/documents";
import { availableTool, evidenceKeys, findingsAbout, forgetFindings, knownFindings, loadFindings } from "./findings";

const finding = (id: string, tools: string[], hosts: string[] = []): Finding => ({
  id,
  title: id,
  share: 0.1,
  saving_ps_per_step: 1,
  segments: [],
  formula: "",
  confidence: "high",
  advice: "",
  help: "",
  hosts,
  evidence: tools.map((tool) => ({ label: "", value: 1, unit: "", tool, query: {}, op: null, file: null, line: null })),
});
const ANSWER = {
  headline: { title: "a", tone: "fair", finding: "a" },
  findings: [finding("a", ["time_budget", "trace_viewer@"]), finding("b", ["hlo_stats"], ["h1"])],
  silent: [],
  base: "step",
};

/** A client that answers `true` with findings and `false` with an error, in this order. */
function client(...answers: boolean[]) {
  const asked: string[] = [];
  const found = makeClient("http://host/p/index.html", (address) => {
    asked.push(address.replace("http://host/p/", ""));
    const good = answers.shift() ?? true;
    return Promise.resolve(
      new Response(JSON.stringify(good ? ANSWER : { error: { code: "internal", message: "x" } }), { status: good ? 200 : 500 }),
    );
  });
  return { asked, client: found };
}

beforeEach(() => forgetFindings());

describe("the shared request", () => {
  it("is sent once per run, until the page is reloaded", async () => {
    const { asked, client: one } = client();
    expect(knownFindings(one, "r")).toBeNull();
    const [a, b] = await Promise.all([loadFindings(one, "r"), loadFindings(client().client, "r")]);
    expect(a).toBe(b);
    expect(knownFindings(one, "r")).toBe(a);
    expect(asked).toEqual(["page?run=r&tag=smart_suggestion"]);
    await loadFindings(one, "other");
    forgetFindings();
    await loadFindings(one, "r");
    expect(asked).toHaveLength(3);
  });

  it("is sent again after an error", async () => {
    const { asked, client: one } = client(false, true);
    await expect(loadFindings(one, "r")).rejects.toThrow("x");
    expect((await loadFindings(one, "r")).findings).toHaveLength(2);
    expect(asked).toHaveLength(2);
  });
});

describe("views behind evidence", () => {
  it.each([
    ["trace_viewer@", { window: "1,2", find: "x" }, { window: "1,2", find: "x" }],
    ["hlo_stats", { filter: "fusion.3" }, { op: "fusion.3" }],
    ["communication", { filter: "all-reduce~1", host: "h" }, { filter: "all-reduce~1", host: "h" }],
    ["communication", { filter: "a;b" }, { "t1.filter": "op~a\\;b" }],
    ["profile_contents", { filter: "x" }, { filter: "x" }],
    ["hlo_stats", { row: "hlo_op_name~a;program_id~1" }, { row: "hlo_op_name~a;program_id~1" }],
  ])("%s %j", (tool, query, keys) => {
    expect(evidenceKeys({ tool, query: query })).toEqual(keys);
  });

  it("exist only for tools with data", () => {
    const tools = new Map([["trace_viewer@", "Trace viewer"]]);
    expect(["trace_viewer", "trace_viewer@", "hlo_stats", ""].map((id) => availableTool(tools, id))).toEqual([
      "trace_viewer@",
      "trace_viewer@",
      null,
      null,
    ]);
  });
});

describe("findings about a page", () => {
  const found = ANSWER;
  const about = (tools: string[], host: string | null = null) => findingsAbout(found, tools, host).map(({ id }) => id);
  const OPS = ["op_profile", "hlo_stats"];

  it("have evidence there or on a related page, and concern the host", () => {
    expect([about(["time_budget"]), about(OPS), about(["memory_viewer"])]).toEqual([["a"], ["b"], []]);
    expect([about(OPS, "h1"), about(OPS, "h2"), about(OPS, "ALL_HOSTS")]).toEqual([["b"], [], ["b"]]);
  });
});
