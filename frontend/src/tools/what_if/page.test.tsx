// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";
import { RECORDED, WITHOUT } from "./testing";

const TOOL = { id: "what_if", title: "What if", group: "Summary", hosts: "one_or_all" } as const;

const asked: URL[] = [];
/** Answers by whether something is left out. */
const answer = (url: URL): unknown => {
  asked.push(url);
  return url.searchParams.has("without") ? WITHOUT : RECORDED;
};
const show = (keys: Record<string, string> = {}, found: unknown = answer): Promise<Shown> => showPage(page, TOOL, found, keys);
const button = (shown: Shown, words: string): HTMLButtonElement => {
  const found = [...shown.root.querySelectorAll("button")].find((one) => one.textContent?.includes(words));
  if (!found) throw new Error(`no button ${words}`);
  return found;
};

describe("the page What if", () => {
  it("shows the recorded step, suggestions, and why a finding has none", async () => {
    const shown = await show();
    expect(shown.text()).toContain("the largest gain that was tried is 60.0%");
    expect(shown.text()).toContain("A note.");
    expect([...shown.root.querySelectorAll(".step-bars-one > b")].map((one) => one.textContent)).toEqual(["Before"]);
    expect(button(shown, "Devices wait 10.0% of the step for launches").disabled).toBe(true);
    expect(shown.text()).toContain("No function takes just this time.");
  });

  it("shows the step as recorded while suggestions are replayed", async () => {
    let replayed: (found: unknown) => void = () => undefined;
    const later = new Promise((resolve) => (replayed = resolve));
    const shown = await show({}, (url: URL) =>
      url.searchParams.has("recorded_only")
        ? { ...RECORDED, before: { ...RECORDED.before, median_ps: null }, after: null, tried: [] }
        : later,
    );
    await vi.waitFor(() => expect(shown.text()).toContain("Replaying the changes"));
    expect(shown.text()).toContain("The step takes 100 us");
    expect(shown.text()).not.toContain("What limits the step");
    replayed(RECORDED);
    await vi.waitFor(() => expect(shown.text()).toContain("the largest gain that was tried is 60.0%"));
    expect(shown.text()).not.toContain("Replaying");
  });

  it("replays a large recording when it is asked to: by the button, or by a change", async () => {
    const large = { ...RECORDED, large: true, before: { ...RECORDED.before, median_ps: null }, after: null, tried: [] };
    const first = (url: URL): unknown => (url.searchParams.has("recorded_only") ? large : answer(url));
    asked.length = 0;
    const shown = await show({}, first);
    expect(shown.text()).toContain("The step takes 100 us");
    expect([asked.length, shown.text().includes("Replaying")]).toEqual([0, false]);
    button(shown, "Replay the suggestions").click();
    await settle(shown.root);
    expect(shown.text()).toContain("the largest gain that was tried is 60.0%");
    const other = await show({}, first);
    (other.root.querySelector('input[name="input_free"]') as HTMLInputElement).click();
    await settle(other.root);
    expect(asked.at(-1)?.searchParams.get("input_free")).toBe("true");
    expect(other.text()).toContain("What limits the step then");
  });

  it("adds the change of a finding at a click, with the step before and after, and removes it at the next", async () => {
    const shown = await show();
    button(shown, "Without train.py:3 load_batch").click();
    await settle(shown.root);
    expect(shown.keys.get("without")).toBe("train.py:3 load_batch");
    expect(shown.text()).toContain("The step would take 60.0% less time (100 us to 40 us)");
    expect(shown.text()).toContain("35 us to 45 us; median 39 us");
    expect(shown.text()).toContain("12% of the chain that determines the steps are delays.");
    expect(button(shown, "Without train.py:3 load_batch").getAttribute("aria-pressed")).toBe("true");
    button(shown, "Without train.py:3 load_batch").click();
    await settle(shown.root);
    expect(shown.keys.has("without")).toBe(false);
  });

  it("adds up changes: a place that is typed in, its factor, and a switch", async () => {
    const shown = await show({ input_free: "true" });
    const field = shown.root.querySelector(".what-if-add input") as HTMLInputElement;
    field.value = " fusion ";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await settle(shown.root);
    shown.root.querySelector("form")?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
    await settle(shown.root);
    expect(["without", "input_free"].map((key) => shown.keys.get(key))).toEqual(["fusion", "true"]);
    expect(Object.fromEntries(asked.at(-1)?.searchParams ?? [])).toMatchObject({ without: "fusion", input_free: "true" });
    const select = shown.root.querySelector("select") as HTMLSelectElement;
    select.value = "0.5";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await settle(shown.root);
    expect(["without", "scale"].map((key) => shown.keys.get(key))).toEqual([undefined, "fusion=0.5"]);
    button(shown, "Remove all changes").click();
    await settle(shown.root);
    expect(["without", "scale", "input_free"].some((key) => shown.keys.has(key))).toBe(false);
  });

  it("opens the change of a finding that a link names", async () => {
    const shown = await show({ finding: "slow_host_code" });
    await settle(shown.root);
    expect(shown.keys.get("without")).toBe("train.py:3 load_batch");
    expect(shown.keys.has("finding")).toBe(false);
    expect(shown.text()).toContain("60.0% less time");
  });

  it("says why a finding that a link names has no change", async () => {
    const shown = await show({ finding: "launch_bound" });
    expect(shown.text()).toContain("Devices wait 10.0% of the step for launches. No function takes just this time.");
    expect(shown.keys.get("finding")).toBe("launch_bound");
  });

  it("proposes names for a place that is not there", async () => {
    const shown = await show({ without: "fusio" }, { ...WITHOUT, unknown: [{ place: "fusio", near: ["fusion"] }] });
    expect(shown.text()).toContain("Nothing in the recording is called so; near:");
    button(shown, "fusion").click();
    await settle(shown.root);
    expect(shown.keys.get("without")).toBe("fusion");
  });

  it("says what the recording lacks, and how to record it", async () => {
    const found = { ...RECORDED, after: null, cannot: "Nothing tells what was launched.", remedy: "Record both in one session." };
    const shown = await show({ input_free: "true" }, found);
    expect(shown.text()).toContain("The recording cannot tell: nothing tells what was launched");
    expect(shown.text()).toContain("Record both in one session.");
    expect(shown.text()).not.toContain("What limits the step");
  });
});
