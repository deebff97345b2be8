import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Cell, ColumnKind, TableColumn, TableData } from "../../base/table/table_data";
import { unmount } from "../../base/testing";
import { Table } from "./table";

const column = (id: string, kind: ColumnKind, values: Cell[], unit: string | null = null): TableColumn => ({
  id,
  label: id,
  kind,
  unit,
  help: `About ${id}.`,
  values,
});
const N = 1000;
const data: TableData = {
  rowCount: N,
  properties: {},
  columns: [
    column(
      "name",
      "string",
      Array.from({ length: N }, (_, i) => (i === 3 ? `%fusion.3 = ${"x".repeat(400)} end` : `op.${i}`)),
    ),
    column(
      "time",
      "number",
      Array.from({ length: N }, (_, i) => (i === 1 ? null : i * 1.5)),
      "us",
    ),
    column(
      "share",
      "number",
      Array.from({ length: N }, (_, i) => i / 10),
      "percent",
    ),
  ],
};

const root = document.createElement("div");
const flush = async (): Promise<void> => {
  for (let i = 0; i < 8; i++) await new Promise((done) => setTimeout(done, 5));
};
const all = (selector: string): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(selector)];
const texts = (selector: string): string[] => all(selector).map((e) => e.textContent ?? "");
const press = async (key: string, init: KeyboardEventInit = {}): Promise<void> => {
  root.querySelector(".table-scroll")?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...init }));
  await flush();
};

beforeEach(async () => {
  // jsdom has no layout: a window of 450 px over the rows.
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(450);
  vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(N * 20 + 50);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(800);
  Element.prototype.scrollTo = function scrollTo(this: Element, options?: unknown) {
    if (typeof options === "object" && options) this.scrollTop = (options as ScrollToOptions).top ?? 0;
    this.dispatchEvent(new Event("scroll"));
  };
  document.body.append(root);
  await act(() => render(<Table data={data} title="Ops" rowTools={(row) => <button type="button">{`More about ${row}`}</button>} />, root));
  await flush();
  root.querySelector<HTMLElement>(".table-scroll")?.focus();
});

afterEach(() => {
  unmount(root);
  root.remove();
});

describe("Table", () => {
  it("prints its first rows, and says how many there are", async () => {
    await act(() => void window.dispatchEvent(new Event("beforeprint")));
    expect(all(".table-tr")).toHaveLength(50);
    expect(texts(".table-scroll > p")).toEqual(["50 of 1,000 rows"]);
    await act(() => void window.dispatchEvent(new Event("afterprint")));
    expect(all(".table-scroll > p")).toEqual([]);
  });

  it("renders only the visible rows, with units", () => {
    expect(all(".table-tr").length).toBeGreaterThan(10);
    expect(all(".table-tr").length).toBeLessThan(80);
    const first = all(".table-tr")[2]?.querySelectorAll(".table-cell");
    expect([...(first ?? [])].map((c) => c.textContent)).toEqual(["op.2", "3 us", "0.2%"]);
    expect(root.querySelector('[role="grid"]')?.getAttribute("aria-rowcount")).toBe("1002");
  });

  it("marks missing values and truncates long texts in the middle", () => {
    const [, missing] = all(".table-tr")[1]?.querySelectorAll(".table-cell") ?? [];
    expect([missing?.textContent, missing?.getAttribute("data-tip")]).toEqual(["-", "No value in the profile."]);
    const cut = all(".table-tr")[3]?.querySelector(".table-cell");
    expect(cut?.textContent).toMatch(/^%fusion\.3 = x+…x+ end$/);
    expect(cut?.getAttribute("data-tip")).toHaveLength(416);
  });

  it("shows short names with the whole name on hover, and opens the row that the address marks", async () => {
    const [name, ...others] = data.columns as [TableColumn, ...TableColumn[]];
    const short = { ...data, columns: [{ ...name, shorten: (text: string) => text.replace("op.", "#") }, ...others] };
    const kept = new Map<string, string | null>([["row", "name~op.700"]]);
    const store = {
      get: (key: string) => kept.get(key) ?? null,
      set: (patch: Readonly<Record<string, string | null>>) => Object.entries(patch).forEach(([key, value]) => kept.set(key, value)),
    };
    unmount(root);
    render(
      <section aria-label="Ops of the device">
        <Table data={short} store={store} />
      </section>,
      root,
    );
    await flush();
    expect(root.querySelector('[role="grid"]')?.getAttribute("aria-label")).toBe("Ops of the device");
    const row = root.querySelector(".table-tr.opened");
    expect(row?.querySelector(".first")?.textContent).toBe("#700");
    expect(row?.querySelector(".first")?.getAttribute("data-tip")).toBe("op.700");
    expect([texts(".table-detail h3"), texts(".table-detail dd")[0]]).toEqual([["#700"], "op.700"]);
    all('.table-detail [aria-label="Close"]')[0]?.click();
    await flush();
    expect([root.querySelector(".table-detail"), kept.get("row")]).toEqual([null, null]);
  });

  it("sorts by a click on the header", async () => {
    all(".table-sort")[1]?.click();
    await flush();
    expect(all('[role="columnheader"]')[1]?.getAttribute("aria-sort")).toBe("descending");
    expect(texts(".table-tr .first")[0]).toBe("op.999");
  });

  it("filters and counts", async () => {
    const field = all(".table-filter input")[0] as HTMLInputElement;
    field.value = "op.99";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await flush();
    expect(texts(".table-tr .first")).toEqual(["op.99", ...Array.from({ length: 10 }, (_, i) => `op.${990 + i}`)]);
    expect(texts(".table-tools .number")).toEqual(["11 of 1,000 rows"]);
    expect(texts(".table-matches")).toEqual(["11"]);
    field.value = "nothing like this";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await flush();
    expect(texts(".table-none")).toEqual(["No row matches the filters."]);
  });

  it("moves by keys, opens and closes the details", async () => {
    await press("ArrowDown");
    await press("ArrowRight");
    expect(root.querySelector(".table-cell.active")?.getAttribute("data-tip")).toBe("No value in the profile.");
    await press("End");
    expect(texts(".table-tr.active .first")).toEqual(["op.999"]);
    await press("Home");
    await press("Enter");
    expect(texts(".table-detail h3")).toEqual(["op.0"]);
    root.querySelector(".table-detail")?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    await flush();
    expect(texts(".table-detail h3")).toEqual(["op.1"]);
    expect(texts(".table-detail-tools button")).toContain("More about 1");
    root.querySelector(".table-detail")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    await flush();
    expect(root.querySelector(".table-detail")).toBeNull();
    expect(document.activeElement).toBe(root.querySelector(".table-scroll"));
  });

  it("copies a cell and a row with exact values", async () => {
    const writeText = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    await press("ArrowRight");
    await press("c", { ctrlKey: true });
    await press("c");
    vi.unstubAllGlobals();
    expect(writeText.mock.calls).toEqual([["0"], ["op.0\t0\t0"]]);
  });
});
