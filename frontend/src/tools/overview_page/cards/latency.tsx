// Latency of inference requests by percentile, stacked by host, device and transfers.
import { useMemo } from "preact/hooks";
import type { StackChart } from "../../../base/chart/chart_spec";
import { CATEGORIES } from "../../../base/steps/step_category";
import { Card } from "../../../widgets/content/card";
import { Chart } from "../../../widgets/chart/chart";
import { formatQuantity, plural } from "../../../base/format";
import type { Latency, LatencyHistogram } from "../../../base/documents";
import { Link } from "../../../widgets/content/link";
import type { PartProps } from "../part";

export function latencyChart(rows: readonly Latency[]): StackChart {
  return {
    kind: "stack",
    x: { name: "Percentile", unit: null, labels: rows.map(({ label }) => label) },
    y: { name: "Latency", unit: "ms" },
    series: [
      { name: "Host", colour: CATEGORIES.host_compute.colour, values: rows.map((row) => row.host_ms) },
      { name: "Device", colour: CATEGORIES.device_compute.colour, values: rows.map((row) => row.device_ms) },
      { name: "Communication", colour: CATEGORIES.kernel_launch.colour, values: rows.map((row) => row.communication_ms) },
    ],
    total: "Total latency",
    showTotal: true,
  };
}

/** Number of requests by latency. */
export function sessionHistogram({ edges_ms, counts }: LatencyHistogram): StackChart | null {
  if (counts.length === 0) return null;
  const labels = counts.map((_, i) => {
    const [from, to] = [edges_ms[i] ?? 0, edges_ms[i + 1] ?? 0];
    return counts.length === 1 ? formatQuantity((from + to) / 2, "ms") : `${formatQuantity(from, "ms")} to ${formatQuantity(to, "ms")}`;
  });
  return {
    kind: "stack",
    unordered: true,
    x: { name: "Latency", unit: null, labels },
    y: { name: "Requests", unit: null },
    series: [{ name: "Requests", colour: CATEGORIES.device_compute.colour, values: counts }],
  };
}

export function SessionCard({ overview, fileName }: PartProps) {
  const { requests } = overview;
  const spec = useMemo(() => requests && sessionHistogram(requests.histogram), [requests]);
  if (!requests || !spec) return null;
  return (
    <Card
      title="Distribution of session time"
      help={"Number of requests by latency, from the first event of each to its last.\nSource: trace."}
    >
      <p class="dim">
        {plural(requests.requests, "request")}, {formatQuantity(requests.percentiles[0]?.total_ms ?? 0, "ms")} on average.
      </p>
      <Chart spec={spec} title="" fileName={`${fileName}_sessions`} height={200} />
    </Card>
  );
}

export function LatencyCard({ overview, tools, keys, fileName }: PartProps) {
  const spec = useMemo(() => overview.requests && latencyChart(overview.requests.percentiles), [overview]);
  if (spec === null) return null;
  const requests = tools.has("inference_profile") ? <Link to={keys("inference_profile")}>Individual requests</Link> : null;
  return (
    <Card
      title="Inference session latency breakdown"
      help={"Latency of requests: mean and percentiles.\nHost is the time in neither the device nor transfers.\nSource: trace."}
    >
      <Chart spec={spec} title="" fileName={`${fileName}_latency`} height={240} tools={requests} />
    </Card>
  );
}
