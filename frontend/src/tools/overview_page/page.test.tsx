// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import { forgetFindings } from "../../page/findings";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";
import { FAILED, findingsOf, OVERVIEW, overviewOf, RUN_INFO, SILENT, SLOW, XPROF } from "./testing";

// jsdom has no canvas to draw on.
vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

const TOOL = { id: "overview_page", title: "Overview Page", group: "Summary", hosts: "all" } as const;
let shown: Shown;
let asked: string[] = [];
const panel = () => shown.root.querySelector('section[aria-label="Findings"]') as HTMLElement;
const headline = () => shown.root.querySelector(".summary h2")?.textContent;

async function show(findings: unknown, keys: Record<string, string> = {}): Promise<void> {
  asked = [];
  shown = await showPage(
    page,
    TOOL,
    ({ pathname, searchParams }: URL) => {
      if (pathname.endsWith("run_info")) return RUN_INFO;
      asked.push(searchParams.get("tag") ?? "");
      return searchParams.get("tag") === "smart_suggestion" ? findings : OVERVIEW;
    },
    keys,
  );
}

const failure = () => new Response(JSON.stringify({ error: { code: "internal", message: "It broke." } }), { status: 500 });

beforeEach(() => forgetFindings());

describe("findings on the overview", () => {
  it("lead from the source line of an op to the page of that line", async () => {
    const answer = findingsOf();
    const line = {
      op: null,
      label: "Its source line",
      value: "train.py:54",
      unit: "",
      tool: "",
      query: { host: "h1" },
      file: "train.py",
      line: 54,
    };
    await show({ ...answer, findings: [{ ...SLOW, evidence: [...SLOW.evidence, line] }, ...answer.findings.slice(1)] });
    const links = [...panel().querySelectorAll<HTMLElement>(".finding-source")];
    expect(links.map(({ textContent }) => textContent)).toEqual(["Source"]);
    links[0]?.click();
    expect(Object.fromEntries(shown.keys)).toEqual({ tool: "source_view", host: "h1", line: "train.py:54" });
  });

  it("are requested after the overview, and lead to the views that show their numbers", async () => {
    await show(findingsOf());
    expect(asked).toEqual(["overview_page", "smart_suggestion"]);
    expect(headline()).toBe(SLOW.title);
    const first = panel().querySelector(".finding") as HTMLElement;
    expect(first.querySelector(".finding-bar i")?.getAttribute("style")).toContain("28.9%");
    expect(first.querySelector(".finding-gain")?.textContent).toBe(
      "550 us of 600 us Waits for host code28.9% of the stephigh confidenceon h1i",
    );
    expect(first.querySelector(".finding-saving")?.getAttribute("data-tip")).toBe("0.55 ms\nidle time that one event covers");
    expect(first.querySelector(".finding-advice")?.textContent).toBe(SLOW.advice);
    const proofs = [...first.querySelectorAll<HTMLElement>(".finding-proof")];
    expect(proofs.map(({ tagName, textContent }) => [tagName, textContent])).toEqual([
      ["A", "28.9% of the step"],
      ["A", "The longest wait: 550 us"],
      ["SPAN", "The code: augment.py:7 random_crop"],
      ["SPAN", "Steps: 6"],
      ["A", "Op: fusion.3"],
    ]);
    proofs[1]?.click();
    expect(Object.fromEntries(shown.keys)).toEqual({ tool: "trace_viewer@", host: "h1", window: "405000000,2495000000" });
    proofs[4]?.click();
    expect([shown.keys.get("tool"), shown.keys.get("op"), shown.keys.has("filter")]).toEqual(["hlo_stats", "fusion.3", false]);
  });

  it("offer to capture again what the profile lacks", async () => {
    const again = {
      label: "Functions",
      value: "",
      unit: "",
      tool: "capture",
      query: { python_tracer_level: "1" },
      op: null,
      file: null,
      line: null,
    };
    await show(findingsOf({ findings: [{ ...SLOW, evidence: [again] }] }));
    const link = panel().querySelector<HTMLElement>(".finding-evidence a");
    expect(link?.textContent).toBe("Capture again with Python functions");
    link?.click();
    expect(shown.keys.get("capture")).toBe("python_tracer_level=1");
  });

  it("about memory cost no time, and evidence without a page of this run is text", async () => {
    await show(findingsOf());
    const memory = panel().querySelector('[data-finding="kept"]') as HTMLElement;
    expect(memory.textContent).toContain("no direct cost");
    expect(memory.querySelector("a, button")).toBeNull();
    expect(memory.textContent).toContain("Activations: 3 GiB");
  });

  it("list the other checks, those that failed first and marked", async () => {
    await show(findingsOf({ silent: [...SILENT, FAILED] }));
    const silent = panel().querySelector("details.findings-silent") as HTMLDetailsElement;
    expect(silent.open).toBe(false);
    expect(silent.querySelector("summary")?.textContent).toBe("1 check clean, 1 not possible with this recording, 1 failed");
    expect([...silent.querySelectorAll("dl > div")].map((one) => one.textContent)).toEqual([
      "Padding in matrix unitsfailedCheck failed: padding. The rule failed: no shape.",
      "Exposed communicationIt takes 8.4% of the step.",
      "Transfers in the loopinot possibleThe profile has no transfer.",
    ]);
  });

  it("explain their rules where the server does", async () => {
    await show(findingsOf());
    const tips = [...panel().querySelectorAll(".finding .info, .findings-silent .info")].map((one) => one.getAttribute("data-tip"));
    expect(tips).toEqual(["Slow code on the host\nSpeaks from 10% of the step.", "Transfers."]);
  });

  it("are opened from the headline", async () => {
    await show(findingsOf());
    const button = [...shown.root.querySelectorAll<HTMLElement>(".summary a")].find((one) => one.textContent === "Show evidence");
    button?.click();
    expect(shown.keys.get("finding")).toBe("slow_host_code");
    forgetFindings();
    await show(findingsOf({ headline: { title: "Healthy", tone: "good", finding: null } }));
    expect([headline(), shown.text().includes("Show evidence")]).toEqual(["Healthy", false]);
  });

  it("that are named in the address are focused", async () => {
    await show(findingsOf(), { finding: "kept" });
    expect(document.activeElement?.getAttribute("data-finding")).toBe("kept");
    expect(panel().querySelectorAll(".chosen")).toHaveLength(1);
  });

  it("do not hold up the figures, and say that they are being looked for", async () => {
    await show(new Promise(() => undefined));
    expect(shown.text()).toContain("Performance summary");
    expect(panel().querySelector("[aria-busy=true]")).not.toBeNull();
    await vi.waitFor(() => expect(panel().textContent).toContain("Looking for causes of lost time…"));
  });

  it("report an error in their panel only, and can be asked for again", async () => {
    let answers: unknown[] = [failure(), findingsOf()];
    shown = await showPage(page, TOOL, ({ pathname, searchParams }: URL) =>
      pathname.endsWith("run_info") ? RUN_INFO : searchParams.get("tag") === "smart_suggestion" ? answers.shift() : OVERVIEW,
    );
    expect(panel().querySelector("[role=alert]")?.textContent).toContain("The findings are missing. The server failed: It broke.");
    expect(headline()).toBe("No steps in this profile");
    panel().querySelector("button")?.click();
    await settle(shown.root);
    await vi.waitFor(() => expect(headline()).toBe(SLOW.title));
    answers = [];
  });

  it("say what is missing in a profile without devices", async () => {
    const none = { title: "No device in the profile: its time cannot be accounted for", tone: "none" as const, finding: null };
    await show(findingsOf({ headline: none, findings: [], step_ps: 0, silent: SILENT.slice(0, 1) }));
    expect(headline()).toBe(none.title);
    expect(shown.text()).toContain("No steps in this profile.");
    expect(panel().textContent).toContain("No finding: the recording lacks what the checks need.");
    expect(panel().querySelector("summary")?.textContent).toBe("1 check not possible with this recording");
  });
});

describe("the readings", () => {
  const asked: URL[] = [];
  const open = async (keys: Record<string, string>): Promise<void> => {
    asked.length = 0;
    shown = await showPage(
      page,
      TOOL,
      (url: URL) => {
        if (url.pathname.endsWith("run_info")) return RUN_INFO;
        asked.push(url);
        if (url.searchParams.get("tag") === "smart_suggestion") return findingsOf();
        return url.searchParams.get("reading") === "xprof" ? XPROF : overviewOf();
      },
      keys,
    );
  };

  it("show the segments of the bar, and the selected one's parts, in the address", async () => {
    await open({ part: "data_movement" });
    const buttons = () => [...shown.root.querySelectorAll<HTMLButtonElement>(".step-bar .shares-list button")];
    expect(buttons().map((one) => [one.textContent, one.getAttribute("aria-pressed")])).toEqual([
      ["Device compute10.0%2 ms", "true"],
      ["Input35.0%7 ms", "false"],
      ["Unexplained5.0%1 ms", "false"],
      ["Between steps50.0%10 ms", "false"],
    ]);
    expect([...shown.root.querySelectorAll(".step-parts dt")].map((one) => one.textContent)).toEqual(["Ops", "Data movement"]);
    expect(shown.root.querySelector(".step-parts .chosen")?.textContent).toContain("Data movement2.5%500 us");
    buttons()[1]?.click();
    await settle(shown.root);
    expect([shown.keys.get("part"), shown.root.querySelector(".shares-part.chosen")?.getAttribute("data-segment")]).toEqual([
      "input",
      "input",
    ]);
    buttons()[1]?.click();
    expect(shown.keys.has("part")).toBe(false);
  });

  it("ask for findings of the chosen host", async () => {
    await open({});
    expect(asked.map((url) => [url.searchParams.get("tag"), url.searchParams.get("host")])).toEqual([
      ["overview_page", "h"],
      ["smart_suggestion", "h"],
    ]);
  });

  it("of XProf ask for its figures alone, and have its recommendation in place of findings", async () => {
    await open({ reading: "xprof" });
    expect(asked.map(({ pathname, searchParams }) => [pathname.split("/").pop(), searchParams.get("tag")])).toEqual([
      ["page", "overview_page"],
    ]);
    expect(headline()).toBe("HIGHLY input-bound");
    expect(panel()).toBeNull();
    const tips = shown.root.querySelector('section[aria-label="Recommendation for next step"]') as HTMLElement;
    expect([...tips.querySelectorAll("ol > li")].map((one) => one.textContent)).toEqual([
      "See the FAQ",
      "input_pipeline_analyzer (Section 3)",
      "op_profile (ops)",
      "Guide",
    ]);
  });
});

describe("recommended pages", () => {
  it("are those that the run has, with the guide to its framework", async () => {
    await show(findingsOf());
    const card = shown.root.querySelector(".tips") as HTMLElement;
    expect([...card.querySelectorAll("a.link")].map((one) => one.textContent)).toEqual(["Time budget", "Trace viewer", "HLO Op Stats"]);
    expect([...card.querySelectorAll("a:not(.link)")].map((one) => [one.getAttribute("href"), one.textContent])).toEqual([
      ["https://docs.jax.dev/en/latest/profiling.html", "Profiling JAX programs"],
    ]);
    card.querySelector<HTMLElement>("a.link")?.click();
    expect(shown.keys.get("tool")).toBe("time_budget");
  });
});
