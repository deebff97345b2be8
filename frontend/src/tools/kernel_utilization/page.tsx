// Kernel utilization: for each kernel, its units in percent of their peaks.
import { useMemo } from "preact/hooks";
import { documentOf } from "../../api/client";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, storeAt } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { formatQuantity, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { hiding } from "../../base/table/transform";
import { Card } from "../../widgets/content/card";
import { Meter } from "../../widgets/content/meter";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Picker } from "../../widgets/overlay/picker";
import { Panel } from "../../widgets/status/panel";
import { FitTable } from "../../widgets/table/fit_table";
import { useLoad } from "../../widgets/status/use_load";
import { headline, hiddenColumns, kernelsOf, withDoubts } from "./model";
import type { Kernel, Share } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

function KernelUtilizationPage(page: PageProps) {
  const { run, tool, host, hosts, client } = page;
  const params = { run, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "kernel_utilization", params, { signal }));
  if (answer.data === null)
    return (
      <Pending answer={answer} page={page} what={`Reading the counters of ${plural(hostCount(tool, host, hosts), "host")}`} rows={12} />
    );
  if (answer.data.kernels.rowCount === 0) {
    return (
      <Panel
        tone="empty"
        title="No kernel with counters that can be compared with a peak"
        why="The profile has no values of performance counters of a TPU v6e or v7x; units and peaks of other chips are not known."
        todo={["Perf Counters lists the values that were recorded."]}
      />
    );
  }
  return <Content page={page} measured={answer.data.kernels} />;
}

const keyOf = (kernel: Kernel, number: number): string => `${number + 1} ${kernel.name}`;

function Content({ page, measured }: { page: PageProps; measured: TableData }) {
  const { state, run, host } = page;
  const table = useMemo(() => withDoubts(measured), [measured]);
  const kernels = useMemo(() => kernelsOf(measured), [measured]);
  const store = useMemo(() => hiding(storeAt(state, "t1"), hiddenColumns(table)), [state, table]);
  const chosen = useKey(state, "kernel");
  const chosenIndex = Math.max(
    0,
    kernels.findIndex((kernel, number) => keyOf(kernel, number) === chosen),
  );
  const kernel = kernels[chosenIndex];
  const { title, sentences } = headline(kernels);
  if (!kernel) return null;
  const choose = (number: number): void => {
    const chosenKernel = kernels[number];
    if (chosenKernel) state.set({ kernel: keyOf(chosenKernel, number) }, "push");
  };
  const choices = kernels.map((one, number) => ({ id: keyOf(one, number), note: `${one.host} device ${one.device}`.trim() }));
  return (
    <div class="tool-page">
      <div class="tool-page-body">
        <SummaryBox title={title}>
          <p>
            <RichText text={sentences.join(" ")} />
          </p>
        </SummaryBox>
        <Card
          title="Kernels"
          help={
            "One row per line of counters, all cores together.\nDouble click or Enter: show the units of the kernel below.\nSource: performance counters."
          }
        >
          <FitTable
            data={table}
            most={360}
            title="Kernels"
            fileName={fileNameOf("kernel_utilization", run, host)}
            store={store}
            onOpen={choose}
          />
        </Card>
        <Card
          title="Units of the kernel"
          help={
            "Percent of the peak, all cores together, 100 at most; operands in percent of the cycles of the matrix units.\nSource: performance counters."
          }
          tools={
            <Picker
              label="Kernel"
              noun="kernel"
              choices={choices}
              value={keyOf(kernel, chosenIndex)}
              onChoose={(id) => choose(choices.findIndex((choice) => choice.id === id))}
            />
          }
        >
          <p class="dim">
            {kernel.deviceType}, device {kernel.device}
            {kernel.host ? ` of ${kernel.host}` : ""}: {formatQuantity(kernel.durationUs, "us")}
          </p>
          <div class="kernel-units">
            <Shares title="Matrix units by operand (% of their cycles)" rows={kernel.precisions} />
            <Shares title="Units (% of peak)" rows={[{ name: "MXU busy", percent: kernel.mxu }, ...kernel.others]} />
          </div>
        </Card>
      </div>
    </div>
  );
}

function Shares({ title, rows }: { title: string; rows: readonly Share[] }) {
  return (
    <table class="kernel-shares">
      <caption>{title}</caption>
      <tbody>
        {rows.map(({ name, percent }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <Meter value={percent / 100} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const page: PageModule = { ids: ["kernel_utilization"], Page: KernelUtilizationPage };
export default page;
