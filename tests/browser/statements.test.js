// What guides to TensorFlow's and Cloud TPU's profiler tell their readers, statement by statement: the pages show it, a test does it, or our guide says it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const COUNT = 262;
const at = await h.served({
  demo: h.DEMO, steps: "step_profiles", devices: "device_profiles", ops: "op_profiles", "tf.data": path.join(h.ROOT, "tests", "profiles", "tf_data_221"),
});

const STEPS = "2026_11_20_10_00_00";
/** Pages: where, the beginning of the run's name, tool, and what to press. */
const PAGES = {
  "overview of a TPU": ["ops", "tpu/", "overview_page"],
  "overview of TPU steps": ["devices", `tpu_collectives/${STEPS}`, "overview_page"],
  "overview of a GPU": ["steps", `gpu/${STEPS}`, "overview_page"],
  "overview of compiling": ["steps", `compiling/${STEPS}`, "overview_page"],
  "overview of requests": ["steps", `serving/${STEPS}`, "overview_page"],
  "overview of slow input": ["demo", "train_slow_input/", "overview_page"],
  "overview of TensorFlow": ["demo", "tf_input/", "overview_page"],
  capture: ["demo", "tf_input/", "overview_page", /^capture profile$/i],
  "input of TensorFlow": ["demo", "tf_input/", "input_pipeline_analyzer"],
  "input of a GPU": ["steps", `gpu/${STEPS}`, "input_pipeline_analyzer"],
  "op profile": ["ops", "tpu/", "op_profile"],
  "op card": ["ops", "tpu/", "op_profile", null, { op: "fusion.1" }],
  "ops of a program": ["demo", "jax_mlp/", "op_profile"],
  "timeline of TPUs": ["devices", `tpu_collectives/${STEPS}`, "trace_viewer@"],
  "timeline of ops": ["ops", "tpu/", "trace_viewer@"],
  "timeline of a GPU": ["steps", `gpu/${STEPS}`, "trace_viewer@"],
  "memory viewer": ["demo", "jax_mlp/", "memory_viewer"],
  "memory profile": ["demo", "tf_input/", "memory_profile"],
  "framework ops": ["demo", "tf_input/", "framework_op_stats"],
  "framework ops of a GPU": ["steps", `gpu/${STEPS}`, "framework_op_stats"],
  kernels: ["ops", "gpu/", "kernel_stats"],
  launches: ["ops", "gpu/", "kernel_stats", /^Launches$/],
  pods: ["steps", `pod/${STEPS}`, "pod_viewer"],
  "tf.data": ["tf.data", "two_devices/", "tf_data_bottleneck_analysis"],
};

/** What a page shows, opened and on hover: numbers of the statements, pattern. Names of columns are in their order. */
const SHOWN = {
  "overview of a TPU": [
    [[13, 103], /TPU matrix unit utilisation\n/], [[14, 142], /Top 2 operations on TPU[\s\S]*Time\ni\n[\s\S]*Cumulative time\n[\s\S]*Category\n[\s\S]*Operation\n[\s\S]*FLOP rate/],
    [[15, 143], /Run environment[\s\S]*Hosts\n[\s\S]*Device type\nTPU v9\nDevice cores\n1/], [[104], /TPU duty cycle\n/], [[105], /Memory bandwidth relative to the peak\n/],
    [[106], /Program goodput efficiency\n/], [[107, 123], /Framework op placement: host[\s\S]*Framework op placement: device/],
    [[108, 124], /Eager execution: host[\s\S]*Eager execution: device/], [[109, 125, 140], /precision: up to 16 bits[\s\S]*precision: more than 16 bits/],
  ],
  "overview of TPU steps": [[[11, 101], /mean over the devices that take part/], [[102], /Average step time\n/], [[110], /Step-time graph/]],
  "overview of a GPU": [
    [[114, 139], /All others\n/], [[115], /Output\n/], [[116], /Input\n/], [[117], /Kernel launch\n/], [[119], /Collective communication\n/], [[121], /Device compute\n/],
  ],
  "overview of compiling": [[[120], /Device to device/i], [[122], /Compilation\n/]],
  "overview of requests": [
    [[111], /Inference session latency breakdown[\s\S]*Host\nDevice\nCommunication/], [[112], /Average session time\n/], [[113], /Distribution of session time/],
  ],
  "overview of slow input": [
    [[100], /Recommended pages/], [[144], /Devices wait 44\.5% of the step for input/], [[141], /Device compute\n[\s\S]*Input\n/], [[5], /capture profile/i],
    [[4, 130], /SUMMARY\nOverview Page\n/i], [[17, 131], /Input Pipeline Analyzer\n/], [[132], /Framework Op Stats\n/], [[133], /Trace viewer\n/], [[135], /Memory Profile/],
    [[136], /Pod Viewer\n/], [[134], /Kernel Stats/], [[137], /tf\.data Bottleneck Analysis/], [[54], /Tools\n/], [[53], /Session\n/], [[55], /Host\n/],
  ],
  "overview of TensorFlow": [[[118], /Host compute\n/]],
  capture: [
    [[6], /IP address/], [[7], /Profile service URL/i], [[8], /\nCAPTURE\n/], [[237], /How do I start a profiler server\?/], [[240], /several separated by commas/], [[241], /TPU name/],
    [[242], /Profiling duration \(ms\)/], [[243, 167], /Host trace \(TraceMe\) level[\s\S]*Device trace level[\s\S]*Python trace level/], [[244], /Retries/i],
  ],
  "input of TensorFlow": [
    [[16, 146], /input-bound: [\d.]+% of the step/i], [[18], /Device-side analysis: statistics\nStep time\n/], [[19], /Step time waiting for input\n/], [[21], /Data preprocessing\n/],
    [[20, 22, 23, 24], /Reading ahead or on demand, preprocessing, or enqueuing/], [[25], /Input op statistics/],
    [[26, 27, 28, 29, 30, 31, 32, 150], /Input op\ni\n[\s\S]*?Count\ni\n[\s\S]*?Total time\ni\n[\s\S]*?Total time \(share\)\ni\n[\s\S]*?Self time\ni\n[\s\S]*?Self time \(share\)\ni\n[\s\S]*?Category\n/],
    [[145], /1\. Summary[\s\S]*2\. Device-side analysis[\s\S]*3\. Host-side analysis/], [[147], /Device step time/], [[148], /on average|steps \(.*σ .* to /], [[149], /breakdown of input processing time/],
  ],
  "op profile": [
    [[33, 38], /% of busy\ni\nTime\ni\nWasted\ni\nFLOPS\n/], [[34], /loop fusion\n90\.9%/], [[36], /Largest potential saving: fusion\.1/], [[37], /By time\nBy wasted time\n[\s\S]*Top 10\n/],
    [[40], /Framework op\n/], [[43], /Low is red, high is green/], [[41], /▸/],
  ],
  "op card": [
    [[35, 46], /Expression[\s\S]*%?fusion\.1 = f32\[8\] fusion\(\)/], [[44], /fusion\.1[\s\S]*loop fusion operation/], [[45], /FLOPS utilisation\n/], [[47], /HBM[\s\S]*% of peak/],
  ],
  "timeline of TPUs": [
    [[56, 62], /102 of 102 events on the screen/], [[58, 159], /Whole\n[\s\S]*Gaps\n[\s\S]*Share/], [[59, 162], /Time of the recording/], [[60], /\/device:TPU:0, 2 tracks/], [[63], /TPU 0\n/],
    [[64, 164], /\nSteps\n/], [[66], /XLA Ops/], [[67, 165], /Host Threads\n/], [[61], /Select \(1\)[\s\S]*Pan \(2\)[\s\S]*Zoom \(3\)[\s\S]*Timing \(4\)/],
  ],
  "timeline of ops": [[[65], /Framework Ops/]],
  "timeline of a GPU": [[[163], /\/device:GPU:0/], [[246], /Steps\n/]],
  "memory viewer": [
    [[78], /Module\njit_train_step\(36\)/], [[79], /jit_train_step\(36\) needs 1\.186 MiB[\s\S]*Peak memory allocation\n[\s\S]*Without padding\n/], [[80], /Working space over the program order/], [[83, 259, 261], /Program order|program order/],
    [[84], /Buffers at the peak/], [[88], /By program order/], [[89], /By size/], [[90], /Buffer\nlargest\nName\ndot\.1/], [[91], /Category\ni\ndot/], [[92], /Size\ni\n256 KiB/], [[93], /Unpadded size\n/],
    [[94], /Expansion\n/], [[95], /Extra memory\n/], [[96], /Shape\ni\nf32\[256,256\]/], [[97], /Framework op\ni\njit\(train_step\)/], [[98], /Allocation type\ni\nOutput/],
  ],
  "memory profile": [
    [[183, 254], /Memory timeline[\s\S]*Live allocations at the peak[\s\S]*Memory summary/], [[184, 252], /Memory ID\nmklcpu/], [[185], /Allocations\n/], [[186], /Deallocations\n/], [[187], /Memory capacity\n/], [[188], /Peak heap usage, lifetime\n/],
    [[189], /Peak memory usage\n/], [[190], /Time of the peak\n/], [[191], /Stack reservation\n/], [[192], /Heap allocation\n/], [[193], /Free memory\n/], [[194, 258], /Fragmentation\n/], [[195, 253, 260], /Fragmentation \(right axis\)/],
    [[207, 208, 209, 210, 211, 255], /Op name\ni\n[\s\S]*?Allocation size\ni\n[\s\S]*?Requested size\ni\n[\s\S]*?Occurrences\ni\n[\s\S]*?Region type\n/], [[212, 213], /COLUMNS .*Data type; Shape/], [[257], /A flat line is normal on TPUs/],
  ],
  "framework ops": [[[151], /Where\ni\n/], [[154], /CSV/], [[155], /Self time\n[\s\S]*COLUMNS .*Total time/], [[157], /Include IDLE time in statistics\nNo\nYes/]],
  "framework ops of a GPU": [[[156], /COLUMNS .*device share.*host share|Busy device share[\s\S]*Busy host share/i]],
  kernels: [[[168], /Time by kernel/]],
  launches: [
    [[169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180, 181, 182],
      /COLUMNS (?=.*Rank)(?=.*Kernel)(?=.*Registers)(?=.*Shared memory)(?=.*Block)(?=.*Grid)(?=.*can use tensor)(?=.*[Uu]ses tensor)(?=.*Op)(?=.*(Runs|Occurrences))(?=.*Total)(?=.*Average)(?=.*(Shortest|Min))(?=.*(Longest|Max))/],
  ],
  pods: [[[215], /Selected step\n/], [[216], /Step breakdown\n/], [[217], /Step breakdown of h2: Host\n[\s\S]*hover over another in the chart/]],
  "tf.data": [
    [[219], /Input pipeline Host:0 of demo-host is slow[\s\S]*A call takes up to 3\.187 ms/], [[220], /Map is its bottleneck[\s\S]*Long name of the bottleneck/], [[221], /How to read its long name/],
    [[222], /Summary of all input pipelines[\s\S]*Min\n[\s\S]*Avg\n[\s\S]*Max\n/], [[223], /took longer than 50 us/], [[224], /Input pipeline\nHost:0[\s\S]*Rank\n/], [[228], /Start time\n/], [[229], /Total duration\n/],
    [[230], /Self duration\n/], [[231], /Calls\n/], [[232, 218], /num_parallel_calls=tf\.data\.AUTOTUNE/],
  ],
};

const unit = (file) => path.join("frontend", "src", file);
/** What a test does: numbers, file, its name. */
const DONE = [
  [[3, 10, 52, 128], "tests/browser/shell.test.js", "the tab appears and shows the newest session"],
  [[9, 239], "tests/browser/capture.test.js", "captures from two workers at once and opens the overview of the new run"],
  [[12, 138], "tests/browser/shell.test.js", "choosing a host changes the page and the address"],
  [[39], unit("tools/op_profile/page.test.tsx"), "shows the card of an op while the pointer is on its name"],
  [[42], unit("tools/op_profile/page.test.tsx"), "expands and collapses by arrow keys, pins by Enter, and writes it to the address"],
  [[48], unit("tools/op_profile/op_profile.test.ts"), "describe how a dimension fits the tiles"],
  [[49, 50], "tests/browser/timeline.test.js", "it draws the boxes of a profile, in its sections"],
  [[51], unit("timeline/data/fetch_policy.test.ts"), "does not when the server answered coarsely and a smaller range would come back finer"],
  [[57, 70, 158], "tests/browser/timeline.test.js", "a click selects the box under it, Escape lets go"],
  [[68, 74, 75, 76, 77, 161], "tests/browser/timeline_tools.test.js", "the four tools answer to their keys; an interval stays marked"],
  [[69], unit("tools/trace_viewer/toolbar/floating_tools.tsx"), "tv-floating-edge"],
  [[71], "tests/browser/timeline_tools.test.js", "arrows walk, a rectangle sums up, Escape clears"],
  [[72, 73], "tests/browser/timeline_tools.test.js", "zooms, pans and shows the whole by keys and wheel"],
  [[160], "tests/browser/timeline_tools.test.js", "sections collapse by their name and by their triangle"],
  [[81, 82, 85, 86, 87], "tests/browser/memory.test.js", "hovering over a buffer shows its details and lifetime; a click pins it in the address"],
  [[129], "tests/browser/offline.test.js", "every page of ${run} works in ${name}"],
  [[152], unit("tools/framework_op_stats/ops.test.ts"), "has up to four pies, those of the device only with device rows"],
  [[153], unit("widgets/table/table.test.tsx"), "sorts by a click on the header"],
  [[214], unit("widgets/table/table.test.tsx"), "filters and counts"],
  [[196], unit("tools/memory_profile/model.test.ts"), "draws stack red, heap orange and free memory green"],
  [[197, 198, 199, 200, 201, 202, 203, 204, 205, 206, 251, 256], "tests/browser/memory.test.js", "TensorFlow's allocations: how full, timeline, breakdown, and the trace at the peak"],
  [[225, 226, 227], "tests/browser/tf_data.test.js", "the bottleneck is named, drawn and explained"],
];

/** What is said in our guide, or in the advice of a rule: numbers, file, pattern. */
const SAID = [
  [[1, 126], "README.md", /^pip install \.[\s\S]*^tensorboard --logdir/m],
  [[2], "CONTRIBUTING.md", /TensorFlow, JAX and xprof are never imported/],
  [[99, 262], "docs/user/memory.md", /Out of memory allocating/],
  [[127], "docs/user/faq.md", /NVreg_RestrictProfilingToAdminUsers=0[\s\S]*privileged=true[\s\S]*extras\/CUPTI\/lib64/],
  [[166], "docs/user/guide.md", /in the colour of the name/],
  [[233], "docs/user/capture.md", /profile_batch=\(10, 20\)/],
  [[234], "docs/user/capture.md", /tf\.profiler\.experimental\.start\(/],
  [[235], "README.md", /with jax\.profiler\.trace\(/],
  [[236], "docs/user/capture.md", /A few steps are enough/],
  [[238], "docs/user/capture.md", /tf\.profiler\.experimental\.client\.trace\(/],
  [[245], "docs/user/capture.md", /tf\.profiler\.experimental\.Trace\("train", step_num=step, _r=1\)/],
  [[247, 250], "docs/user/guide.md", /TPU[\s\S]*GPU[\s\S]*CPU/],
  [[248], "tpu_profile_plugin/analysis/findings/part_advice.txt", /TF_GPU_THREAD_MODE=gpu_private/],
  [[249], "docs/user/guide.md", /float32 products beside units for 16 bits/],
];

/** Runs in the page: its text, and what it says on hover and to screen readers. */
function everything() {
  const texts = [document.body.innerText];
  for (const element of document.querySelectorAll("[data-tip], [aria-label], option"))
    texts.push(element.dataset.tip ?? "", element.getAttribute("aria-label") ?? "", element.tagName === "OPTION" ? element.textContent : "");
  return [...new Set(texts)].join("\n");
}

/** The names of the columns of all tables, hidden ones too. */
async function columns(tab) {
  const buttons = () => tab.frame().$$("main .table-tools button[aria-haspopup=dialog]");
  const names = [];
  for (let i = 0; i < (await buttons()).length; i++) {
    const press = async () => (await buttons())[i].evaluate((button) => button.click());
    await press();
    const listed = () => tab.frame().$$eval(".popover-box label", (labels) => labels.map((label) => label.textContent).join("; "));
    names.push(`COLUMNS ${await h.until("the columns", listed)}`);
    await press();
  }
  return names.join("\n");
}

async function read(browser, [where, beginning, tool, button = null, more = {}]) {
  const runs = await (await fetch(`${at[where].url}data/plugin/profile/runs`)).json();
  const run = runs.find((one) => one.startsWith(beginning));
  const tab = await h.openPage(browser, at[where], { query: new URLSearchParams({ run, tool, ...more }).toString(), width: 1280, height: 900 });
  await h.atRest(tab);
  if (button !== null)
    await tab.frame().evaluate((source, flags) => {
      [...document.querySelectorAll("button")].find((one) => new RegExp(source, flags).test(one.textContent.trim())).click();
    }, button.source, button.flags);
  await tab.frame().$$eval('main .card-fold[aria-expanded="false"]', (folds) => folds.forEach((fold) => fold.click()));
  await tab.frame().$$eval("details:not([open])", (all) => all.forEach((one) => { one.open = true; }));
  await h.atRest(tab);
  const shown = `${await tab.frame().evaluate(everything)}\n${await columns(tab)}`;
  await tab.page.close();
  return shown;
}

test("every statement has a place where it holds", () => {
  const all = [...Object.values(SHOWN).flat(), ...DONE, ...SAID].flatMap(([numbers]) => numbers).sort((a, b) => a - b);
  assert.deepEqual(all, Array.from({ length: COUNT }, (_, i) => i + 1));
});

test("what tests do is done by tests that exist", () => {
  for (const [numbers, file, name] of DONE) {
    const found = existsSync(path.join(h.ROOT, file)) ? readFileSync(path.join(h.ROOT, file), "utf8") : "";
    assert.ok(found.includes(name), `${numbers}: ${file} has no "${name}"`);
  }
});

test("our guide says what it should", () => {
  for (const [numbers, file, pattern] of SAID) assert.match(readFileSync(path.join(h.ROOT, file), "utf8"), pattern, `${numbers}`);
});

h.inChromium("statements", ({ browser }) => {
  for (const [page, statements] of Object.entries(SHOWN))
    test(`hold on the page: ${page}`, async () => {
      const shown = await read(browser(), PAGES[page]);
      const missing = statements.filter(([, pattern]) => !pattern.test(shown)).map(([numbers, pattern]) => `${numbers}: ${pattern}`);
      assert.deepEqual(missing, [], shown.slice(0, 4000));
    });
});
