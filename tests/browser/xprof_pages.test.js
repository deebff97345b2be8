// The comparison of XProf's pages (scripts/soak/frontend) itself: the stand-in for Google Charts, differences, exceptions.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { describe, it } from "node:test";
import vm from "node:vm";
import { act } from "../../scripts/soak/frontend_drive/actions.mjs";
import { differences } from "../../scripts/soak/frontend_drive/compare.mjs";
import { EXCEPTIONS, excused } from "../../scripts/soak/frontend_drive/exceptions.mjs";
import { mended, startFront } from "../../scripts/soak/frontend_drive/servers.mjs";
import { Side } from "../../scripts/soak/frontend_drive/side.mjs";
import { ROOT } from "./harness.js";

function charts() {
  const window = {};
  vm.runInNewContext(readFileSync(path.join(ROOT, "scripts/soak/frontend_drive/charts_data.js"), "utf8"), { window });
  return { ...window.google.visualization, refused: window.__refused };
}

const plain = (value) => JSON.parse(JSON.stringify(value));

describe("the collector", () => {
  it("counts what waits for the page to be idle", () => {
    const [window, waiting] = [{}, []];
    window.requestIdleCallback = (callback) => waiting.push(callback);
    window.cancelIdleCallback = () => {};
    vm.runInNewContext(readFileSync(path.join(ROOT, "scripts/soak/frontend_drive/collect.js"), "utf8"), { window });
    const seen = [];
    window.requestIdleCallback(() => seen.push(window.__idle.size));
    window.cancelIdleCallback(window.requestIdleCallback(() => {}));
    assert.equal(window.__idle.size, 1);
    waiting[0]();
    assert.deepEqual([seen, window.__idle.size], [[1], 0]);
  });
});

describe("the stand-in for Google Charts", () => {
  it("has tables that are sorted, filtered, grouped and formatted", () => {
    const { DataTable, DataView, NumberFormat, data } = charts();
    const cols = [{ id: "op", label: "Op", type: "string" }, { id: "time", label: "Time", type: "number" }];
    const table = new DataTable({ cols, rows: [["b", 1], ["a", 2.5], ["b", 0.25]].map((row) => ({ c: row.map((v) => ({ v })) })) });
    new NumberFormat({ pattern: "##.#%" }).format(table, 1);
    assert.deepEqual(plain(table.getSortedRows({ column: 1, desc: true })), [1, 0, 2]);
    assert.equal(table.getFormattedValue(2, 1), "25%");
    const view = new DataView(table);
    view.setColumns([1, { calc: (source, row) => source.getValue(row, 0) + row, type: "string", label: "named" }]);
    view.setRows(table.getFilteredRows([{ column: 0, value: "b" }]));
    assert.deepEqual(plain(view.rows().map((row) => [view.getValue(row, 0), view.getValue(row, 1)])), [[1, "b0"], [0.25, "b2"]]);
    const groups = data.group(table, [0], [{ column: 1, aggregation: data.sum, type: "number" }]);
    assert.deepEqual(plain(groups.rows().map((row) => [groups.getValue(row, 0), groups.getValue(row, 1)])), [["a", 2.5], ["b", 1.25]]);
  });

  it("notes a cell of another type than its column, and refuses columns that are not there", () => {
    const { DataTable, refused } = charts();
    const table = new DataTable({ cols: [{ id: "n", label: "", type: "number" }], rows: [{ c: [{ v: "1" }] }] });
    assert.deepEqual(plain(refused), ['Type mismatch: "1" in column n of number']);
    assert.throws(() => table.getValue(0, 1), /Invalid column index 1/);
  });
});

describe("XProf's pages", () => {
  it("have the run that pod_viewer asks for from the query of the address", () => {
    const others = "n([e.params,e.queryParams]).pipe(j(this.destroyed)).subscribe(([o,r])=>{this.update()})";
    const bundle = (places) => `${others};${"e.params.pipe(j(this.destroyed)).subscribe(o=>{this.update(o)});".repeat(places)}`;
    assert.equal(mended(bundle(1)), `${others};e.queryParams.pipe(j(this.destroyed)).subscribe(o=>{this.update(o)});`);
    for (const places of [0, 2]) assert.throws(() => mended(bundle(places)), new RegExp(`^Error: ${places} places`));
  });

  it("are clicked on where they draw, once the picture stays", async () => {
    const [drawn, clicked] = [["a", "b", "b", "c", "c", "c", "c", "d"], []];
    const canvas = { screenshot: async () => drawn.shift(), boundingBox: async () => ({ x: 10, y: 20, width: 100, height: 50 }) };
    const page = { frames: () => [], $: async (selector) => (selector === "canvas" ? canvas : null), mouse: { click: async (...at) => void clicked.push(at) } };
    const side = Object.assign(new Side(), { page, drawing: true, asked: [], errors: [], foreign: [], quiet: async () => true });
    assert.match((await side.picture())[0], /^canvas [0-9a-f]{64}$/);
    assert.deepEqual(drawn, ["d"]);
    side.collect = async () => "seen";
    const noted = [];
    await act(side, { kind: "canvas", at: 2, x: 0.5, y: 7 }, (...note) => void noted.push(note));
    await act(side, { kind: "find", at: 0, text: "f" }, (...note) => void noted.push(note));
    assert.deepEqual([clicked, noted], [[[60, 27]], [["canvas 2", "seen"], ["find 0", "absent"]]]);
  });

  it("have data made anew for one request at a time", async () => {
    const [seen, bundle] = [[], "e.params.pipe(j(this.destroyed)).subscribe(o=>{this.update(o)})"];
    let [now, most] = [0, 0];
    const server = http.createServer((request, response) => {
      if (request.url === "/bundle.js") return response.end(bundle);
      seen.push(request.url);
      most = Math.max(most, (now += 1));
      return setTimeout(() => ((now -= 1), response.end(request.url)), 50);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const data = { origin: `http://127.0.0.1:${server.address().port}` };
    const front = await startFront({ pages: data, lists: data, data, fresh: true });
    const asked = [1, 2, 3].map(async (at) => (await fetch(`${front.origin}/data/plugin/profile/data?at=${at}`)).text());
    assert.deepEqual(await Promise.all(asked), [1, 2, 3].map((at) => `/data/plugin/profile/data?at=${at}&use_saved_result=false`));
    assert.deepEqual([seen.length, most], [3, 1]);
    assert.equal(await (await fetch(`${front.origin}/bundle.js`)).text(), mended(bundle));
    await front.stop();
    server.closeAllConnections();
    server.close();
  });

  it("have their sliders moved to the end", async () => {
    const [heard, noted] = [[], []];
    const slider = { min: "0", max: "7", value: "0", checkVisibility: () => true, dispatchEvent: ({ type }) => heard.push([type, slider.value]) };
    const page = {
      frames: () => [],
      evaluate: (run, ...given) => vm.runInNewContext(`(${run})`, { document: { querySelectorAll: () => [slider] }, Event })(...given),
    };
    const side = { page, quiet: async () => true, collect: async () => "moved" };
    for (const at of [0, 1]) await act(side, { kind: "slider", at }, (...note) => void noted.push(note));
    assert.deepEqual(heard, [["input", "7"], ["change", "7"]]);
    assert.deepEqual(noted, [["slider 0", "moved"], ["slider 1", "absent"]]);
  });
});

describe("differences", () => {
  const chart = (value, text) => ({ kind: "Table", columns: [["t", "T", "number", ""]], length: 1, options: {}, cells: [[[value, text, {}]]] });
  const state = (texts, charts = [], asked = []) => ({ shown: [{ texts, charts }], asked, errors: [], foreign: [] });

  it("are texts that one side lacks, their order, and cells beyond the last digits", () => {
    assert.deepEqual(differences(state(["a", "b"]), state(["a", "c"])).map(({ side, line }) => [side, line]), [["XProf", "b"], ["ours", "c"]]);
    assert.deepEqual(differences(state(["a", "b"]), state(["b", "a"]))[0].what, "texts, order from line 0");
    assert.deepEqual(differences(state([], [chart(1, "1")]), state([], [chart(1 + 1e-15, "1")])), []);
    assert.equal(differences(state([], [chart(1, "1")]), state([], [chart(1.001, "1")])).length, 2);
    assert.equal(differences(state([], [chart(1, "1")]), state([], [chart(1, "1.0")])).length, 2);
    assert.equal(differences(state([], [chart(1, "1")]), state([])).length, 1);
  });

  it("are not the digits that XProf rounds away from the bytes of an op", () => {
    const bandwidth = (id, value) => ({ ...chart(value, "1"), columns: [[id, "", "number", ""]] });
    const found = (id, ours) => differences(state([], [bandwidth(id, 2111.4864864864862)]), state([], [bandwidth(id, ours)])).length;
    assert.deepEqual([found("measured_memory_bw", 2111.4866123408888), found("measured_memory_bw", 2111.4878), found("hbm_bw", 2111.4866123408888)], [0, 2, 2]);
  });

  it("are not ports, versions, or answers that the browser kept", () => {
    const asked = (answer) => [{ url: "/data?run=r", answer }];
    assert.deepEqual(differences(state(["v2.24.2", "at 127.0.0.1:1"], [], asked("200 text/plain")), state(["v0.1.0", "at 127.0.0.1:22"], [], asked("304 text/plain"))), []);
    assert.equal(differences(state([], [], asked("200 text/plain")), state([], [], asked("404 text/plain"))).length, 2);
  });

  it("are not the numbers of flows, which XProf draws by lot, and not when a viewer logged a line", () => {
    const event = (flow, group) => state(["bind_id", ":", flow, "group_id", ":", group]);
    assert.deepEqual(differences(event("64223438040918184", "1"), event('"29984070249792595"', "1")), []);
    assert.equal(differences(event("1", "1"), event("1", "2")).length, 2);
    const logged = (time) => ({ ...state([]), errors: [`I0000 00:00:${time}.233999  723836 imgui.cc:906] Succeeded`] });
    assert.deepEqual(differences(logged(1795385100), logged(1795384838)), []);
  });

  it("are pictures that a page draws", () => {
    const drawn = (digest) => ({ ...state([]), shown: [{ pictures: [`canvas ${digest}`] }] });
    assert.deepEqual(differences(drawn("0a"), drawn("0a")), []);
    assert.equal(differences(drawn("0a"), drawn("0b")).length, 2);
  });

  it("are not the content types of answers that say only that nothing has changed", () => {
    const side = Object.assign(new Side(), { origin: "http://127.0.0.1:1", waiting: new Set(), kinds: new Map(), asked: [] });
    for (const [status, type] of [[200, "text/plain; charset=utf-8"], [304, "application/json"], [200, "text/html"]]) {
      const response = { status: () => status, headers: () => ({ "content-type": type }) };
      side.done({ url: () => "http://127.0.0.1:1/data?run=r", response: () => response });
    }
    side.done({ url: () => "http://127.0.0.1:2/", response: () => null });
    assert.deepEqual(side.asked.map(({ answer }) => answer), ["200 text/plain", "304 text/plain", "200 text/html"]);
  });

  it("are requests that only one side refuses, and every error of our server", () => {
    const differ = (theirs, ours) => differences(...[theirs, ours].map((answer) => state([], [], [{ url: "/data?run=r", answer }]))).map(({ side, line }) => `${side}: ${line}`);
    assert.deepEqual(differ("500 text/plain", "404 application/json"), []);
    assert.deepEqual(differ("200 text/plain", "404 application/json"), ["XProf: 200 text/plain /data?run=r", "ours: fails /data?run=r"]);
    assert.deepEqual(differ("500 text/plain", "500 application/json"), ["XProf: fails /data?run=r", "ours: 500 application/json /data?run=r"]);
    assert.deepEqual(differ("500 text/plain", "200 application/json"), ["XProf: fails /data?run=r", "ours: 200 application/json /data?run=r"]);
    for (const line of ["200 text/plain /data?run=r", "fails /data?run=r", "500 application/json /data?run=r"]) {
      for (const side of ["XProf", "ours"]) assert.equal(excused({ run: "r", tool: "overview_page" }, { what: "requests", side, line }), undefined);
    }
  });

  it("are excused only by a rule that fits, and every rule has a reason", () => {
    assert.ok(EXCEPTIONS.every(({ reason }) => reason.length > 10));
    assert.equal(excused({ run: "r", tool: "run_tools" }, { what: "tools", side: "ours", line: "pod_viewer" }), undefined);
    assert.equal(excused({ run: "r", tool: "overview_page" }, { what: "texts", side: "ours", line: "Tools (11)" }), undefined);
    const cell = { what: "chart 0 (Table) row 0 column request_id", side: "ours", line: "4" };
    const chosen = (label, tool = "inference_profile") => Boolean(excused({ run: "r", tool }, { label, ...cell }));
    assert.deepEqual([chosen("selector 1: Request size"), chosen("selector 0: m:1"), chosen("")], [true, false, false]);
    assert.equal(chosen("selector 1: Request size", "hlo_stats"), false);
    const drawn = (label, run = "r") => Boolean(excused({ run, tool: "trace_viewer@", use_trace_viewer_v2: "true" }, { label, what: "pictures", line: "canvas 0a" }));
    assert.deepEqual([drawn("canvas 1"), drawn(""), drawn("", "tpu_v6e4_inference/1")], [true, false, true]);
    assert.equal(excused({ run: "r", tool: "trace_viewer@" }, { label: "canvas 1", what: "pictures", line: "canvas 0a" }), undefined);
  });
});
