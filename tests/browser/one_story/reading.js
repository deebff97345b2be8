// What a page shows, as data: headline, figures, bars, visible table cells, percentages, odd words.

/** Runs in the page; everything it needs is inside. */
export function readPage() {
  const textOf = (element) => (element?.innerText ?? element?.textContent ?? "").replace(/\s+/g, " ").trim();
  const root = document.querySelector(".page");
  const titleOf = (element) => textOf(element.closest(".card, section")?.querySelector("h2, h3"));
  const figures = [...root.querySelectorAll("dl.figures > div")].map((row) => ({
    name: textOf(row.querySelector("dt > span")), text: textOf(row.querySelector("dd")), note: textOf(row.querySelector("dd.figure-note")),
    card: titleOf(row),
  }));
  const details = Object.fromEntries([...root.querySelectorAll("dl:not(.figures)")].flatMap((list) => [...list.querySelectorAll("dt:not(.inner)")].map((name) => [textOf(name), textOf(name.nextElementSibling)])));
  const bars = [...root.querySelectorAll("figure.shares")].map((bar) => ({
    label: bar.getAttribute("aria-label"),
    parts: [...bar.querySelectorAll(".shares-list > li")].map((part) => {
      const [name, share, amount] = [...part.querySelectorAll("span")].map(textOf);
      return { name, share, amount };
    }),
  }));
  const pies = [...root.querySelectorAll(".pie-list ul")].map((list) => ({
    label: titleOf(list), parts: [...list.querySelectorAll("li")].map((part) => ({ name: textOf(part.querySelector("b")), share: textOf(part.querySelectorAll(".number")[0]), amount: textOf(part.querySelectorAll(".number")[1]) })),
  }));
  const tables = [...root.querySelectorAll(".table-head")].map((head) => ({
    title: titleOf(head), count: head.closest("[role=grid]") ? Number(head.closest("[role=grid]").getAttribute("aria-rowcount")) - 2 : null,
    columns: [...head.querySelectorAll(".table-label")].map(textOf),
    rows: [...(head.closest("[role=grid], [role=treegrid], .table")?.querySelectorAll(".table-tr") ?? [])].map((row) => [...row.querySelectorAll(".table-cell")].map(textOf)),
  }));
  const lines = [...root.querySelectorAll(".opp-tree [role=row]")].map((row) => [...row.children].map((cell) => textOf(cell).replace(/^[▸▾]\s*/, "")));
  const tree = { columns: (lines[0] ?? []).map((name) => name.replace(/ i$/, "")), rows: lines.slice(1) };
  const above = [];
  const odd = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent;
    const parent = node.parentElement;
    if (!parent || parent.closest("code, pre, script, style, .graph-view-svg")) continue;
    // Increases such as "120% longer than the median" are no shares.
    for (const match of text.matchAll(/>?(\d[\d,]*(?:\.\d+)?)\s?%(?![\w.])(?!\s*(?:longer|shorter|over|more|less|apart|slower|faster|above|higher|lower))/g)) {
      if (Number(match[1].replaceAll(",", "")) > 100 && !parent.closest("[data-reason], .doubtful")) above.push(text.trim().slice(0, 120));
    }
    if (/(^|[^\w.])(NaN|Infinity|undefined|\[object Object\])([^\w.]|$)/.test(text)) odd.push(text.trim().slice(0, 120));
  }
  const summary = root.querySelector(".summary");
  return {
    headline: textOf(summary?.querySelector("h1, h2")), sentences: [...(summary?.querySelectorAll("p") ?? [])].map(textOf),
    text: textOf(root), figures, details, bars, pies, tables, tree, above, odd,
    failed: [...root.querySelectorAll(".panel-error")].map(textOf),
  };
}

/** Runs in the page: its text once it is complete, else null. */
export function settledText() {
  const root = document.querySelector(".page");
  return root && !root.querySelector(".loading, [aria-busy=true]") && root.innerText.trim().length > 20 ? root.innerText : null;
}

/** Runs in the page: the charts as tables, by title; charts of more than `most` rows are left out. */
export async function readCharts(most) {
  const textOf = (element) => (element?.innerText ?? "").replace(/\s+/g, " ").trim();
  // No animation frames: pages in the background get none.
  const frame = () => new Promise((resolve) => { setTimeout(resolve, 20); });
  const charts = {};
  for (const chart of document.querySelectorAll(".page section.chart")) {
    const button = [...chart.querySelectorAll(".chart-head button")].find((one) => textOf(one) === "Table");
    if (!button) continue;
    button.click();
    for (let i = 0; i < 50 && !chart.querySelector(".table-tr"); i++) await frame();
    const grid = chart.querySelector("[role=grid]");
    const count = Number(grid?.getAttribute("aria-rowcount") ?? 0) - 2;
    if (!grid || count < 1 || count > most) continue;
    const rows = new Map();
    // Only rows in view exist: scroll until every one was seen.
    for (let i = 0; i < 200 && rows.size < count; i++) {
      for (const row of grid.querySelectorAll(".table-tr")) rows.set(Number(row.dataset.at), [...row.querySelectorAll(".table-cell")].map(textOf));
      const scroller = [grid, ...grid.querySelectorAll("*")].find((one) => one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY));
      if (!scroller) break;
      scroller.scrollTop += scroller.clientHeight / 2;
      await frame();
    }
    if (rows.size !== count) continue;
    const title = textOf(chart.querySelector("h3")) || textOf(chart.closest(".card")?.querySelector("h2"));
    charts[title] ??= { columns: [...grid.querySelectorAll(".table-label")].map(textOf), rows: [...rows].sort((a, b) => a[0] - b[0]).map(([, cells]) => cells) };
  }
  return charts;
}

/** Runs in the page: the toolbars whose children are not on one line or reach beyond it. */
export function wrappedToolbars() {
  return [...document.querySelectorAll("[role=toolbar], .top")].flatMap((bar) => {
    const boxes = [...bar.children].map((child) => child.getBoundingClientRect()).filter(({ width, height }) => width > 0 && height > 0);
    const wraps = Math.max(...boxes.map(({ top }) => top)) >= Math.min(...boxes.map(({ bottom }) => bottom));
    if (boxes.length < 2 || (!wraps && bar.scrollWidth <= bar.clientWidth + 1)) return [];
    return [`${bar.getAttribute("aria-label") ?? bar.className} (${bar.clientWidth} px; ${boxes.map(({ width }) => Math.round(width)).join(", ")})`];
  });
}
