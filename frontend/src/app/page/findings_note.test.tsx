// Tests of the line above a page: when it is requested, whether it concerns the page, where it leads.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeClient } from "../../api/client";
import type { ToolInfo } from "../../api/types";
import { forgetFindings } from "../../page/findings";
import type { PageProps, Reading } from "../../page/page";
import { AddressContext } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { useLoad } from "../../widgets/status/use_load";
import { cleanup, flush, mount, text } from "../testing";
import { PageHost } from "./page_host";
import { NO_BASE } from "../../page/testing";

const finding = (id: string, tool: string) => ({
  id,
  title: `Title of ${id}`,
  share: 0.3,
  saving_ps_per_step: 1,
  segments: [],
  formula: "",
  confidence: "high",
  advice: "",
  hosts: [],
  evidence: [{ label: "", value: 1, unit: "", tool, query: {} }],
});
const HEADLINE = { title: "", tone: "none", finding: null };
const answer = (...findings: object[]) => ({ headline: HEADLINE, findings, silent: [], step_ps: 1, base: "step", parts: [] });

/** The pages that show findings, each with the tools whose findings are its, too. */
const SHOWN: Readonly<Record<string, readonly string[]>> = { hlo_stats: ["op_profile"], op_profile: ["hlo_stats"] };

function Page({ run, client, tool }: PageProps) {
  const found = useLoad(run, (signal) => client.json<string>("page", { run, tag: tool.id }, { signal }));
  return <p id="page">{found.data ?? "waiting"}</p>;
}

/** Opens the page of a tool; its own data come when `finish` is called. */
function open(id: string, found: unknown, hosts: readonly string[] = ["a"], reading: Reading = "own") {
  const asked: string[] = [];
  let finish = (): void => undefined;
  const client = makeClient("http://host/p/index.html", (address) => {
    const tag = new URL(address).searchParams.get("tag") ?? "";
    asked.push(tag);
    if (tag === "smart_suggestion") return Promise.resolve(new Response(JSON.stringify(found), { status: found === null ? 500 : 200 }));
    return new Promise((done) => {
      finish = () => done(new Response('"numbers"'));
    });
  });
  const patches: Patch[] = [];
  const state = { get: () => null, set: () => undefined, subscribe: () => () => undefined };
  const tool: ToolInfo = {
    id,
    title: id,
    group: "Ops",
    summary: "",
    hosts: "one",
    host_names: [...hosts],
    available: true,
    reason: null,
    params: [],
  };
  const address = { href: () => "/", go: (patch: Patch) => void patches.push(patch) };
  mount(
    <AddressContext.Provider value={address}>
      <PageHost
        run="r"
        tool={tool}
        host="a"
        hosts={["a"]}
        base={NO_BASE}
        reading={reading}
        client={client}
        state={state}
        round={0}
        load={() => Promise.resolve({ ids: [id], Page, findings: SHOWN[id] })}
      />
    </AddressContext.Provider>,
  );
  return { asked, patches, finish: () => finish() };
}

beforeEach(() => {
  cleanup();
  forgetFindings();
});
afterEach(() => cleanup());

const NOTE = ".findings-note";

describe("the line about findings", () => {
  it("comes after the page's own data, and leads to the finding on the overview", async () => {
    const { asked, patches, finish } = open(
      "hlo_stats",
      answer(finding("a", "hlo_stats"), finding("b", "op_profile"), finding("c", "memory_viewer")),
    );
    await flush();
    expect(asked).toEqual(["hlo_stats"]);
    finish();
    await flush();
    expect(asked).toEqual(["hlo_stats", "smart_suggestion"]);
    expect(text(`${NOTE}-title`)).toBe("Title of a");
    expect(text(`${NOTE} a`)).toBe("Evidence, advice and 1 more finding");
    document.querySelector<HTMLElement>(`${NOTE} a`)?.click();
    expect(patches[0]).toMatchObject({ tool: "overview_page", finding: "a", host: null, filter: null });
    expect(text("#page")).toBe("numbers");
  });

  it("is there at once on the next page", async () => {
    const first = open("hlo_stats", answer(finding("a", "hlo_stats")));
    await flush();
    first.finish();
    await flush();
    cleanup();
    const next = open("op_profile", answer());
    await flush();
    expect(text(`${NOTE}-title`)).toBe("Title of a");
    expect(next.asked).toEqual(["op_profile"]);
  });

  it.each([
    ["findings about other pages", answer(finding("a", "kernel_stats"))],
    ["an error", null],
  ])("is left out for %s", async (_, found) => {
    const { finish } = open("hlo_stats", found);
    await flush();
    finish();
    await flush();
    expect(document.querySelector(NOTE)).toBeNull();
    expect(text("#page")).toBe("numbers");
  });

  it.each([
    [8, 2],
    [9, 1],
  ])("does not make the server read many hosts: %d hosts, %d requests", async (count, requests) => {
    const { asked, finish } = open("hlo_stats", answer(), ["ALL_HOSTS", ...Array.from({ length: count }, (_, i) => `h${i}`)]);
    await flush();
    finish();
    await flush();
    expect(asked).toHaveLength(requests);
  });

  it("is not requested while pages show XProf's figures", async () => {
    const { asked, finish } = open("hlo_stats", answer(finding("a", "hlo_stats")), ["a"], "xprof");
    await flush();
    finish();
    await flush();
    expect(asked).toEqual(["hlo_stats"]);
  });

  it("is not requested by pages that show none", async () => {
    const { asked, finish } = open("profile_contents", answer());
    await flush();
    finish();
    await flush();
    expect(asked).toEqual(["profile_contents"]);
  });
});
