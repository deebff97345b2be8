// Tests of request tracking: progress over the hosts, and missing hosts.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeClient } from "../../api/client";
import type { PageProps } from "../../page/page";
import { NO_BASE } from "../../page/testing";
import type { ToolInfo } from "../../api/types";
import { Loading } from "../../widgets/status/loading";
import { useLoad } from "../../widgets/status/use_load";
import { PageHost } from "./page_host";
import { cleanup, flush, mount, text } from "../testing";
import { progressText, readLeftOut, readReadBy } from "./tracking";

const tool: ToolInfo = {
  id: "stats",
  title: "Stats",
  group: "Ops",
  summary: "",
  hosts: "one_or_all",
  host_names: ["ALL_HOSTS", "a", "b", "c"],
  available: true,
  reason: null,
  params: [],
};

function Page({ run, client }: PageProps) {
  const answer = useLoad(run, (signal) => client.json<string>("page", { run, tag: "stats" }, { signal }));
  return answer.data === null ? <Loading what="Adding up 3 hosts" /> : <p id="page">{answer.data}</p>;
}

/** Answers to `data` come when `finish` is called. */
function open(host: string, headers: Record<string, string> = {}) {
  const asked: string[] = [];
  let finish = (): void => undefined;
  const client = makeClient("http://host/p/index.html", (address) => {
    asked.push(address.replace("http://host/p/", ""));
    if (address.includes("/progress")) return Promise.resolve(new Response(JSON.stringify({ done: 1, total: 3, missing: ["b", "c"] })));
    return new Promise((done) => {
      finish = () => done(new Response('"numbers"', { headers }));
    });
  });
  const state = { get: () => null, set: () => undefined, subscribe: () => () => undefined };
  mount(
    <PageHost
      run="r"
      tool={tool}
      host={host}
      hosts={[host]}
      client={client}
      state={state}
      base={NO_BASE}
      reading="own"
      round={0}
      load={() => Promise.resolve({ ids: ["stats"], Page })}
    />,
  );
  return { asked, finish: () => finish() };
}

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

beforeEach(() => cleanup());
afterEach(() => cleanup());

describe("hosts behind a page", () => {
  it("shows the server's progress on the same query", async () => {
    const { asked, finish } = open("ALL_HOSTS");
    await wait(1300);
    expect(text(".loading-text")).toBe("Adding up 3 hosts: 1 of 3 hosts read, waiting for b, c…");
    expect(new Set(asked)).toEqual(new Set(["page?run=r&tag=stats", "progress?run=r&tag=stats"]));
    finish();
    await flush();
    expect(text("#page")).toBe("numbers");
    const before = asked.length;
    await wait(600);
    expect(asked.length, "requests after the page was left").toBe(before);
    expect(document.querySelector("[data-left-out]")).toBeNull();
  });

  it("does not request progress for one host", async () => {
    const { asked } = open("a");
    await wait(1300);
    expect(asked).toEqual(["page?run=r&tag=stats"]);
    expect(text(".loading-text")).toBe("Adding up 3 hosts…");
  });

  it("follows the requests for its own run, not those for a base", async () => {
    const told = { count: 1, hosts: [{ host: "b", message: "Does not decode." }] };
    const asked: string[] = [];
    const client = makeClient("http://host/p/index.html", (address) => {
      asked.push(address.replace("http://host/p/", ""));
      return new Promise((done) =>
        setTimeout(() => done(new Response('"numbers"', { headers: { "X-Profile-Left-Out": JSON.stringify(told) } })), 900),
      );
    });
    const OfBase = ({ client: own }: PageProps) => {
      const answer = useLoad("base", (signal) => own.json<string>("page", { run: "base", tag: "stats" }, { signal }));
      return answer.data === null ? <Loading what="Reading" /> : <p id="page">{answer.data}</p>;
    };
    const state = { get: () => null, set: () => undefined, subscribe: () => () => undefined };
    mount(
      <PageHost
        run="r"
        tool={tool}
        host="ALL_HOSTS"
        hosts={[]}
        client={client}
        state={state}
        base={NO_BASE}
        reading="own"
        round={0}
        load={() => Promise.resolve({ ids: ["stats"], Page: OfBase })}
      />,
    );
    await wait(1300);
    expect(text("#page")).toBe("numbers");
    expect(asked).toEqual(["page?run=base&tag=stats"]);
    expect(document.querySelector("[data-left-out]")).toBeNull();
  });

  it("names the host that is missing", async () => {
    const told = { count: 1, hosts: [{ host: "b", file: "b.xplane.pb", code: "corrupt_profile", message: "Does not decode." }] };
    const { finish } = open("ALL_HOSTS", { "X-Profile-Left-Out": JSON.stringify(told) });
    await flush();
    finish();
    await flush();
    expect(text("[data-left-out] summary")).toBe("This page lacks host b of 3 hosts; it shows the others.");
    expect(text("[data-left-out] li")).toBe("b: Does not decode.");
    expect(text("#page")).toBe("numbers");
  });

  it("counts hosts that the header does not list", async () => {
    const told = { count: 30, hosts: [{ host: "b", message: "x" }] };
    const { finish } = open("ALL_HOSTS", { "X-Profile-Left-Out": JSON.stringify(told) });
    await flush();
    finish();
    await flush();
    expect(text("[data-left-out] summary")).toBe("This page lacks 30 hosts; it shows the others.");
    expect([...document.querySelectorAll("[data-left-out] li")].map((li) => li.textContent)).toEqual(["b: x", "and 29 more hosts"]);
  });

  it("ignores malformed headers", () => {
    expect(readLeftOut(new Headers())).toBeNull();
    for (const bad of ["", "no json", "null", "[]", '{"count":"1","hosts":[]}', '{"count":1}']) {
      expect(readLeftOut(new Headers({ "X-Profile-Left-Out": bad })), bad).toBeNull();
    }
  });

  it("names the hosts that are missing", () => {
    const missing = ["a", "b", "c"];
    expect(progressText({ done: 0, total: 16, missing })).toBe("0 of 16 hosts read, waiting for a, b, c and 13 more");
    expect(progressText({ done: 13, total: 16, missing })).toBe("13 of 16 hosts read, waiting for a, b, c");
    expect(progressText({ done: 16, total: 16, missing: [] })).toBe("16 of 16 hosts read");
    expect(progressText({ done: 0, total: 1, missing: ["a"] })).toBeNull();
    expect(progressText({ done: null, total: null, missing: [] })).toBeNull();
  });

  it("says where the hosts were read when the cluster failed", async () => {
    const told = [{ name: "processes", hosts: 3, reason: "The Dask scheduler tcp://a:1 cannot be used: gone.", fallback: true }];
    const { finish } = open("ALL_HOSTS", { "X-Profile-Read-By": JSON.stringify(told) });
    await flush();
    finish();
    await flush();
    expect(text("[data-read-by]")).toBe(
      "3 hosts read by processes of the server's machine. The Dask scheduler tcp://a:1 cannot be used: gone.",
    );
  });

  it("says nothing of threads, and ignores malformed headers", async () => {
    const { finish } = open("ALL_HOSTS", { "X-Profile-Read-By": JSON.stringify([{ name: "threads", hosts: 3 }]) });
    await flush();
    finish();
    await flush();
    expect(document.querySelector("[data-read-by]")).toBeNull();
    expect(readReadBy(new Headers({ "X-Profile-Read-By": "{" }))).toEqual([]);
    expect(readReadBy(new Headers({ "X-Profile-Read-By": "1" }))).toEqual([]);
  });
});
