// One name, one number: figures with a name, wherever pages show them, and the names that have two values.
import { quantity } from "./quantity.js";

/** Runs in the page; everything it needs is inside. Lists of figures, evidence of findings, bars, pies, tables, trees. */
export function readNames() {
  const textOf = (element) => (element?.innerText ?? element?.textContent ?? "").replace(/\s+/g, " ").trim();
  const root = document.querySelector(".page");
  const headings = [...root.querySelectorAll("h1, h2, h3")];
  const titleOf = (element) => {
    const own = element.closest(".card, section, figure")?.querySelector("h2, h3");
    const before = headings.filter((one) => one.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING);
    return textOf(own ?? before.at(-1));
  };
  const found = [];
  const add = (place, element, name, text, title = titleOf(element)) => name && text && found.push({ place, name, text, title });
  for (const name of root.querySelectorAll("dl dt")) {
    const words = [...name.childNodes].filter((one) => one.nodeType === Node.TEXT_NODE || (one.tagName === "SPAN" && !one.className));
    if (name.nextElementSibling?.tagName === "DD") add("list", name, words.map(textOf).join(" ").trim(), textOf(name.nextElementSibling));
  }
  for (const proof of root.querySelectorAll(".finding-evidence li")) {
    const finding = proof.closest("[data-finding]")?.dataset.finding ?? "";
    add("evidence", proof, textOf(proof.querySelector(".finding-proof > span")).replace(/:$/, ""), textOf(proof.querySelector("b.number")), finding);
  }
  for (const bar of root.querySelectorAll("figure.shares")) {
    for (const part of bar.querySelectorAll(".shares-list > li:not(.shares-rest)")) {
      const [name, ...texts] = [...part.querySelectorAll("span")].map(textOf);
      for (const text of texts) add("bar", bar, name, text, bar.getAttribute("aria-label") ?? "");
    }
  }
  for (const part of root.querySelectorAll(".pie-list li")) {
    for (const number of part.querySelectorAll(".number")) add("pie", part, textOf(part.querySelector("b")), textOf(number));
  }
  const rowsOf = (lines) => lines.map((line) => [...line.children].map((cell) => textOf(cell).replace(/^[▸▾]\s*/, "")));
  const table = (element, columns, rows) => {
    const [what] = columns;
    const names = rows.map(([name]) => name);
    for (const [name, ...cells] of rows) {
      if (!name || names.indexOf(name) !== names.lastIndexOf(name)) continue;
      cells.forEach((text, i) => columns[i + 1] && add("table", element, `${what} ${name}: ${columns[i + 1]}`, text));
    }
  };
  for (const head of root.querySelectorAll(".table-head")) {
    const rows = [...(head.closest("[role=grid], [role=treegrid], .table")?.querySelectorAll(".table-tr") ?? [])];
    table(head, [...head.querySelectorAll(".table-label")].map(textOf), rows.map((row) => [...row.querySelectorAll(".table-cell")].map(textOf)));
  }
  for (const tree of root.querySelectorAll(".opp-tree")) {
    const [columns = [], ...rows] = rowsOf([...tree.querySelectorAll("[role=row]")]);
    table(tree, columns.map((one) => one.replace(/ i$/, "")), rows.map(([name, ...cells]) => [name.replace(/ self time$/, ""), ...cells]));
  }
  return found;
}

/** The rest of a list: its name says nothing. */
const REST = /^(?:all others|\d+ others?)$/;
/** Names of what only its card, its finding or its chart tells. */
const RELATIVE = /\b(?:this|one|it|its|before|after|gain|confidence|total|largest part)\b/;
/** The bar of the step, whose parts are called the same on all pages. */
const STEP = /^Of the (?:average step|time from step to step|recording): /;
/** Cards about what was chosen on the page: a step of a worker, a buffer, a node, a run of a pipeline, what was sampled. */
const CHOSEN = {
  pod_viewer: /^Step breakdown of /,
  memory_viewer: /^Buffer$/,
  memory_profile: /./,
  graph_viewer: /./,
  tf_data_bottleneck_analysis: /./,
  inference_profile: /./,
  what_if: /./,
  compare: /./,
};

/** The figures of a page by what their names mean: `{ key, one, text, page, index, at }`, where `at` is the place in the text. */
export function namedFigures(page, names) {
  return names.flatMap(({ place, name, text, title }, index) => {
    const called = name.toLowerCase().replace(/ i$/, "");
    if (REST.test(called)) return [];
    const scoped = place === "pie" || (place === "bar" && !STEP.test(title)) || RELATIVE.test(called) || CHOSEN[page]?.test(title);
    const scope = scoped ? `, of ${page}: ${title}` : "";
    // "16.23 ms (44.5%)" is two figures.
    return [...text.matchAll(/^[^(]+|(?<=\()[^)]+%(?=\))/g)].flatMap((match) => {
      const one = /^[−-]?\d/.test(match[0].trim()) && !/^\d{4}-/.test(match[0]) ? quantity(match[0]) : null;
      return one === null ? [] : [{ key: `${called}${scope} (${one.kind})`, one, text: match[0].trim(), page, index, at: match.index }];
    });
  });
}

/** Whether two figures may be one number, each rounded to its last digit. */
const same = (a, b) => Math.abs(a.value - b.value) < ((a.step + b.step) / 2) * (1 - 1e-6) + 1e-12 * Math.abs(a.value);

/** Figures of all pages of a run that share a name, as lists of two and more. */
export function namesakes(pages) {
  const byKey = new Map();
  for (const [page, names] of Object.entries(pages)) {
    for (const figure of namedFigures(page, names)) byKey.set(figure.key, [...(byKey.get(figure.key) ?? []), figure]);
  }
  return [...byKey.values()].filter((some) => some.length > 1);
}

/** Names with two values: each with the pages that show them. */
export function twoValues(pages) {
  return namesakes(pages).flatMap((some) => {
    const [first] = some;
    const differ = some.some(({ one }) => some.some((two) => !same(one, two.one)));
    return differ ? [`"${first.key}": ${[...new Set(some.map(({ page, text }) => `${text} (${page})`))].join(", ")}`] : [];
  });
}

/** The same pages with one figure 1% larger, in the same digits; null where so many digits are not shown. */
export function withOneChanged(pages, { page, index, at, text }) {
  const digits = /[\d,]*\.?\d+/.exec(text)[0];
  const decimals = digits.split(".")[1]?.length ?? 0;
  const changed = (Number(digits.replaceAll(",", "")) * 1.01).toFixed(decimals);
  const off = Math.abs(Number(changed) / Number(digits.replaceAll(",", "")) - 1);
  if (!(off > 0.005)) return null;
  const names = pages[page].map((one, i) => (i === index ? { ...one, text: one.text.slice(0, at) + one.text.slice(at).replace(digits, changed) } : one));
  return { ...pages, [page]: names };
}
