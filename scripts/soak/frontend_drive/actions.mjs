// What is done on a page, in the same order on both sides: selectors, switches, tabs, panels, rows and charts.
// An action is data ({kind, at, ...}), planned on one side by position, so that it means the same on the other.

/** Selectors with their options, switches, tabs, closed panels, rows that open, charts that can be clicked; in the page. */
function inventory() {
  const count = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility()).length;
  const charts = [];
  for (const element of document.querySelectorAll("*")) {
    if (!element.__drawn) continue;
    const { chart, source } = element.__drawn;
    charts.push({ rows: source.getNumberOfRows(), columns: source.getNumberOfColumns(), heard: Object.keys(chart.listeners).filter((name) => name !== "ready") });
  }
  return {
    selects: count("mat-sidenav-content mat-select, as-split mat-select"),
    toggles: count("mat-sidenav-content mat-checkbox input, mat-sidenav-content mat-slide-toggle button"),
    radios: count("mat-sidenav-content mat-radio-button input"),
    tabs: count("[role=tab]"),
    panels: count("mat-expansion-panel-header"),
    rows: count("op-table-entry .row"),
    points: count("buffer-allocation-timeline rect, topology-graph .node, .node"),
    chips: count("mat-chip-option"),
    sliders: count("mat-slider input"),
    charts,
  };
}

const PLACES = {
  toggle: "mat-sidenav-content mat-checkbox input, mat-sidenav-content mat-slide-toggle button",
  radio: "mat-sidenav-content mat-radio-button input",
  tab: "[role=tab]",
  panel: "mat-expansion-panel-header",
  row: "op-table-entry .row",
  point: "buffer-allocation-timeline rect, topology-graph .node, .node",
  chip: "mat-chip-option button",
};
const SLIDER = "mat-slider input";

/**
 * Selects an event of a trace viewer's frame, the `at`-th of `of` spread over all that begin alone on their line and
 * are no instants (XProf has no details of those); 0 where there is none.
 */
function onEvent({ at, of }) {
  const view = document.querySelector("tr-ui-timeline-view");
  if (!view?.model) return 0;
  const threads = view.model.getAllThreads().filter((thread) => thread.sliceGroup.slices.length);
  threads.sort((a, b) => a.parent.pid - b.parent.pid || a.tid - b.tid);
  const all = threads.flatMap(({ sliceGroup: { slices } }) => {
    const begun = new Map();
    for (const { start } of slices) begun.set(start, (begun.get(start) ?? 0) + 1);
    return slices.filter(({ start, duration }) => duration > 1e-8 && begun.get(start) === 1).sort((a, b) => a.start - b.start);
  });
  if (!all.length) return 0;
  view.brushingStateController.changeSelectionFromTimeline(new window.tr.model.EventSet([all[Math.floor(((at + 0.5) * all.length) / of)]]));
  return all.length;
}

/** Looks for events whose name begins with a text, as its field of search does. */
function onSearch({ text }) {
  const viewer = document.querySelector("tf-trace-viewer");
  viewer?._searchAndAddTraceEvents?.(text);
  return Boolean(viewer);
}

const EVENTS_TRIED = 6;
const TRACE_ACTIONS = [
  ...Array.from({ length: EVENTS_TRIED }, (_, at) => ({ kind: "event", at, of: EVENTS_TRIED })),
  { kind: "search", at: 0, text: "f" },
];
/** Clicks on events of the new trace viewer, on its first lines: the share of the canvas's width, pixels from its top. */
const CANVAS_ACTIONS = [
  ...[[0.3, 76], [0.5, 99], [0.45, 121], [0.4, 143]].map(([x, y], at) => ({ kind: "canvas", at, x, y })),
  { kind: "find", at: 0, text: "f" },
];
const FIND = "input[aria-label='Search trace events']";
const SELECT = "mat-sidenav-content mat-select, as-split mat-select";
const OPTIONS_TRIED = 2;

/** The actions for what `side` shows now. */
export async function plan(side) {
  const found = await side.page.evaluate(inventory);
  const several = (kind, total, most) => Array.from({ length: Math.min(total, most) }, (_, at) => ({ kind, at }));
  const charts = found.charts.flatMap(({ rows, columns, heard }, at) =>
    heard.flatMap((name) => (rows && columns ? [...new Set([0, rows - 1])].map((row) => ({ kind: "chart", at, name, row, column: Math.min(1, columns - 1) })) : [])),
  );
  return [
    ...(side.page.frames().some((frame) => frame.url().includes("trace_viewer_index")) ? TRACE_ACTIONS : []),
    ...(side.drawing && (await side.page.$("canvas")) ? CANVAS_ACTIONS : []),
    ...several("panel", found.panels, 4),
    ...several("row", found.rows, 6),
    ...several("point", found.points, 3),
    ...several("chip", found.chips, 2),
    ...several("slider", found.sliders, 2),
    ...charts.slice(0, 8),
    ...several("select", found.selects, 8),
    ...several("toggle", found.toggles, 8),
    ...several("radio", found.radios, 4),
    ...several("tab", found.tabs, 6),
  ];
}

/** What the page does for an action on a chart; true if the chart is there. */
function onChart({ at, name, row, column }) {
  const element = [...document.querySelectorAll("*")].filter((candidate) => candidate.__drawn)[at];
  if (!element) return false;
  const { chart, source } = element.__drawn;
  if (row >= source.getNumberOfRows()) return false;
  chart.setSelection([{ row, column }]);
  chart.fire(name, { row, column, pageSize: 10 });
  return true;
}

/** Clicks the visible element `at` of a selector and points at it; true if it is there. */
function onElement([selector, at]) {
  const element = [...document.querySelectorAll(selector)].filter((candidate) => candidate.checkVisibility())[at];
  if (!element) return false;
  for (const name of ["mouseenter", "mouseover", "mousemove"]) element.dispatchEvent(new MouseEvent(name, { bubbles: name !== "mouseenter" }));
  if (element.click) element.click();
  else element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  return true;
}

/** Moves the visible slider `at` to its end, as pulling and letting go do; true if it is there. */
function onSlider([selector, at]) {
  const element = [...document.querySelectorAll(selector)].filter((candidate) => candidate.checkVisibility())[at];
  if (!element) return false;
  element.value = element.max;
  for (const name of ["input", "change"]) element.dispatchEvent(new Event(name, { bubbles: true }));
  return true;
}

/** Clicks on the canvas or looks for a text in the new trace viewer; true if it is there. */
async function inCanvas({ page }, { kind, x, y, text }) {
  const element = await page.$(kind === "find" ? FIND : "canvas");
  if (!element) return false;
  if (kind === "find") {
    await element.click();
    await page.keyboard.type(`${text}\n`);
    return true;
  }
  const box = await element.boundingBox();
  await page.mouse.click(box.x + x * box.width, box.y + y);
  return true;
}

const offered = () => [...document.querySelectorAll(".cdk-overlay-container mat-option")].map((option) => option.textContent.trim());

async function open(side, at) {
  const there = await side.page.evaluate((selector, index) => {
    const element = [...document.querySelectorAll(selector)].filter((candidate) => candidate.checkVisibility())[index];
    (element?.querySelector(".mat-mdc-select-trigger") ?? element)?.click();
    return Boolean(element);
  }, SELECT, at);
  if (there) await side.quiet();
  return there;
}

async function close(side) {
  await side.page.keyboard.press("Escape");
  await side.quiet();
}

/** Opens a selector, notes its options, and takes some of them in turn; `note` receives each state. */
async function select(side, at, note) {
  if (!(await open(side, at))) return note(`selector ${at}: absent`, null);
  const options = await side.page.evaluate(offered);
  await close(side);
  await note(`selector ${at}: options`, options);
  // From the front: a selector may have options of ours at its end.
  for (let index = 1; index <= Math.min(OPTIONS_TRIED, options.length - 1); index += 1) {
    if (!(await open(side, at))) break;
    await side.page.evaluate((which) => document.querySelectorAll(".cdk-overlay-container mat-option")[which]?.click(), index);
    await side.quiet();
    await close(side);
    await note(`selector ${at}: ${options[index]}`, await side.collect());
  }
  return undefined;
}

/** Carries out an action; `note(label, state)` for each state that it leads to. */
export async function act(side, action, note) {
  if (action.kind === "select") return select(side, action.at, note);
  const label = `${action.kind} ${action.at}${action.name ? ` ${action.name} row ${action.row}` : ""}`;
  const frame = side.page.frames().find((one) => one.url().includes("trace_viewer_index"));
  const inTrace = { event: onEvent, search: onSearch }[action.kind];
  const onPage = () => {
    if (action.kind === "chart") return side.page.evaluate(onChart, action);
    if (action.kind === "canvas" || action.kind === "find") return inCanvas(side, action);
    if (action.kind === "slider") return side.page.evaluate(onSlider, [SLIDER, action.at]);
    return side.page.evaluate(onElement, [PLACES[action.kind], action.at]);
  };
  const done = await (inTrace ? frame?.evaluate(inTrace, action) : onPage());
  if (done) await side.quiet();
  return note(label, done ? await side.collect() : "absent");
}
