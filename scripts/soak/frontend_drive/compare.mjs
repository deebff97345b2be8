// Differences between what two sides show: masks for what may differ, and a line-by-line comparison of the rest.

/** What is masked in every text, with the reason. */
export const MASKS = [
  [/127\.0\.0\.1:\d+/g, "SERVER", "each side has a port of its own"],
  [/^v\d+\.\d+(\.\d+)*\S*$/, "VERSION", "the page shows the version of the plugin behind it"],
  [/^304 /, "200 ", "a server that names versions of its answers lets the browser keep them"],
  [/^I0000 \S+ +\d+ /, "", "when the new trace viewer logged it, and by which thread"],
  [/:\d+:\d+\)?/g, "", "places in the bundle"],
  [/(?<=^slice .*)"uid":\d+,?/, "", "numbers events that begin together, in the order in which an unstable sort leaves them"],
];

function masked(value) {
  let text = typeof value === "string" ? value : JSON.stringify(value);
  for (const [pattern, by] of MASKS) text = text.replace(pattern, by);
  return text;
}

/** Numbers that differ in the last of 16 digits are the same: sums in another order. */
const SLACK = 1e-9;
/** XProf keeps the bytes of an op of a GPU as a 32-bit float, which rounds those above 16 MiB; ours are exact. */
const ROUNDED = { columns: /^measured_memory_bw$/, slack: 2 ** -23 };
/** The smallest positive number, with which XProf begins its search for a maximum, is 0. */
const NOTHING = 1e-300;

function close(a, b, slack) {
  if (Math.abs(a) < NOTHING && Math.abs(b) < NOTHING) return true;
  return a === b || (typeof a === "number" && typeof b === "number" && Math.abs(a - b) <= slack * Math.max(Math.abs(a), Math.abs(b)));
}

/** Lines of `a` that `b` lacks, counted: [[line, times], ...]. */
function without(a, b) {
  const left = new Map();
  for (const line of a) left.set(line, (left.get(line) ?? 0) + 1);
  for (const line of b) left.set(line, (left.get(line) ?? 0) - 1);
  return [...left].filter(([, times]) => times > 0);
}

/** Compares two lists of lines: where they differ, and whether only their order does. */
export function lines(what, a, b, ordered) {
  const [theirs, ours] = [a.map(masked), b.map(masked)];
  const [missing, added] = [without(theirs, ours), without(ours, theirs)];
  if (missing.length || added.length) {
    return [
      ...missing.map(([line]) => ({ what, side: "XProf", line })),
      ...added.map(([line]) => ({ what, side: "ours", line })),
    ];
  }
  const first = ordered ? theirs.findIndex((line, at) => line !== ours[at]) : -1;
  return first < 0 ? [] : [{ what: `${what}, order from line ${first}`, side: "XProf", line: theirs[first] }, { what: `${what}, order from line ${first}`, side: "ours", line: ours[first] }];
}

function chart(at, a, b) {
  if (!a || !b) return [{ what: `chart ${at}`, side: a ? "XProf" : "ours", line: `${(a ?? b).kind} of ${(a ?? b).length} rows, only here` }];
  const what = `chart ${at} (${a.kind})`;
  const head = ({ kind, length, columns, options }) => [{ kind }, { length }, ...columns, ...Object.entries(options)];
  const found = lines(`${what} head`, head(a), head(b), true);
  const same = a.columns.map((column) => b.columns.findIndex((other) => masked(other) === masked(column)));
  const paired = found.length ? same : [...a.columns.keys()];
  for (let row = 0; row < Math.min(a.cells.length, b.cells.length); row += 1) {
    for (let column = 0; column < a.columns.length; column += 1) {
      if (paired[column] < 0) continue;
      const [cell, other] = [a.cells[row][column], b.cells[row][paired[column]]];
      const [x, y] = [masked(cell), masked(other)];
      const slack = ROUNDED.columns.test(a.columns[column][0]) ? ROUNDED.slack : SLACK;
      if (x === y || (close(cell[0], other[0], slack) && masked(cell.slice(1)) === masked(other.slice(1)))) continue;
      const place = `${what} row ${row} column ${a.columns[column][0] || a.columns[column][1]}`;
      found.push({ what: place, side: "XProf", line: x }, { what: place, side: "ours", line: y });
    }
  }
  return found;
}

/** The texts of a state, without the number of a flow, which XProf's server draws by lot when it starts. */
const settled = (texts = []) => texts.map((text, at) => (texts[at - 2] === "bind_id" ? "FLOW" : text));

/** Requests that the page gives up because it is left; which ones is a matter of time. */
const ABORTED = /ERR_ABORTED/;
/**
 * Requests that are refused. Ours have a fitting status of 4xx and are JSON; XProf answers most of them with 500 and plain
 * text. A 5xx of ours is no answer to a request that is wrong: it always differs.
 */
const FAILING = { theirs: /^[45]\d\d /, ours: /^4\d\d / };
const PARTS = { texts: true, selectors: true, inputs: true, drawings: true, tracks: false, refused: true, pictures: true };

/** All differences between two collected states (`Side.collect`). */
export function differences(a, b) {
  if (!a?.shown || !b?.shown) return masked(a ?? null) === masked(b ?? null) ? [] : lines("state", [a ?? null].flat(), [b ?? null].flat(), true);
  const found = [];
  for (let frame = 0; frame < Math.max(a.shown.length, b.shown.length); frame += 1) {
    const [x, y] = [a, b].map(({ shown }) => ({ ...shown[frame], texts: settled(shown[frame]?.texts) }));
    const where = frame ? `frame ${frame} ` : "";
    for (const [part, ordered] of Object.entries(PARTS)) found.push(...lines(where + part, x[part] ?? [], y[part] ?? [], ordered));
    const charts = Math.max(x.charts?.length ?? 0, y.charts?.length ?? 0);
    for (let at = 0; at < charts; at += 1) found.push(...chart(where + at, x.charts?.[at], y.charts?.[at]));
  }
  const made = ({ asked }, failing) => {
    const request = ({ url, answer }) => `${failing.test(answer) ? "fails" : answer.replace(/^304 /, "200 ")} ${url}`;
    return [...new Set(asked.filter(({ answer }) => !ABORTED.test(answer)).map(request))];
  };
  found.push(...lines("requests", made(a, FAILING.theirs), made(b, FAILING.ours), false));
  found.push(...lines("errors", [...new Set(a.errors)], [...new Set(b.errors)], false));
  found.push(...lines("other hosts", [...new Set(a.foreign)], [...new Set(b.foreign)], false));
  return found;
}
