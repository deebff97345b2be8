// Differences that are meant, each with its reason; everything else fails the run. `what` and `line` are regular
// expressions on the kind of the difference and on its text, `run`, `tool` and `side` on where it was seen, `label` on what
// was done before; `asked` is a parameter that the address must have.
export const EXCEPTIONS = [
  {
    tool: /^inference_profile$/,
    label: /^selector \d+: (Request|Host|Data|Device|Idle|Padding|Batch)/,
    what: /^chart \d+ \(Table\) row \d+ column /,
    reason: "the column that orders requests or batches: XProf's server drops it, ours orders by it as XProf's converter does",
  },
  {
    tool: /^graph_viewer$/,
    what: /^frame \d+ |^other hosts$|^errors$/,
    reason: "XProf's picture of a graph is drawn by scripts from another host, which are refused here; ours is in the answer",
  },
  {
    tool: /^op_profile$/,
    what: /, order from line/,
    reason: "XProf lists equally long groups in hash order, which changes from answer to answer",
  },
  {
    tool: /^overview_page$/,
    asked: "enable_smart_suggestion",
    what: /^(texts|drawings)$/,
    reason: "suggestions are ours in wording; which of them are made, and their numbers, are compared in the parity tests",
  },
  {
    what: /^errors$/,
    line: /Failed to load resource: the server responded with a status of [45]\d\d|^HttpErrorResponse|could not be loaded/,
    reason: "the browser's and the page's log of a request that fails, with our status and words",
  },
  {
    what: /^texts$/,
    line: /^(Http failure response for .*: \d+ [\w ]+|[45]\d\d|No xplane file found for .*|HLO proto file .* not found in .*|There is no (host '.*' in run '.*'|HLO module '.*' in this profile)\.|Parameter 'run' is missing\.)$/,
    reason: "the page shows the words of a failed request: ours name what is wrong",
  },
  {
    tool: /^trace_viewer/,
    what: /^frame \d+ texts/,
    line: /^Press 'm' to mark current selection$/,
    reason: "a hint that fades after some seconds",
  },
  {
    tool: /^trace_viewer/,
    what: /^frame \d+ texts$/,
    line: /^[\w.-]+(,[\w.-]+)+$/,
    reason: "operands and consumers of an op that several modules have: XProf takes the first module, ours that of the event",
  },
  {
    tool: /^trace_viewer/,
    what: /^frame \d+ texts, order from line/,
    reason: "links to connected events are listed in the order in which the page finishes looking for them",
  },
  {
    tool: /^trace_viewer/,
    asked: "use_trace_viewer_v2",
    label: /^(canvas|find) /,
    what: /^pictures$/,
    reason: "after a click, lines between events come to rest a fraction of a pixel apart, on either side, from time to time",
  },
  {
    tool: /^trace_viewer/,
    asked: "use_trace_viewer_v2",
    label: /^find /,
    what: /^texts$/,
    line: /^1 of \d+$/,
    reason: "the page counts what it finds itself or what the server finds, whichever comes last",
  },
  {
    tool: /^trace_viewer/,
    run: /^constructed\/hostc\//,
    asked: "use_trace_viewer_v2",
    label: /^find /,
    what: /^(texts|requests)$/,
    line: /^\d$|&unique_id=\d$/,
    reason: "events of a line that begin together are numbered in the order of XProf's unstable sort",
  },
  {
    tool: /^trace_viewer/,
    run: /^tpu_v6e/,
    asked: "use_trace_viewer_v2",
    what: /^pictures$/,
    reason: "instants of a line that begin together are stacked, and drawn over each other, in the order of XProf's unstable sort",
  },
  {
    tool: /^trace_viewer/,
    run: /^constructed\/gpu2?\//,
    what: /^frame \d+ (texts|drawings)/,
    reason: "correlation ids that are written as int64: XProf reads each as 0 and connects all launches with all kernels",
  },
];

/** The exception that covers a difference, or undefined. */
export function excused(query, { what, line, side, label = "" }) {
  const { run, tool } = query;
  const matches = (pattern, text) => !pattern || pattern.test(text);
  const seen = ({ side: only, asked }) => (!only || only === side) && (!asked || asked in query);
  const where = (rule) => matches(rule.run, run) && matches(rule.tool, tool) && matches(rule.label, label);
  return EXCEPTIONS.find((rule) => seen(rule) && where(rule) && matches(rule.what, what) && matches(rule.line, line));
}
