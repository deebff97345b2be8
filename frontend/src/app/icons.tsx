// Line icons, 16 x 16, in the colour of the text.
import type { JSX } from "preact";

const PATHS: Readonly<Record<string, string>> = {
  // tools
  overview_page: "M2 13V9h3v4M6.5 13V3h3v10M11 13V6h3v7",
  input_pipeline_analyzer: "M2 4h12L9.5 9v4l-3 1V9z",
  inference_profile: "M2 8h3l2-5 3 10 2-5h2",
  framework_op_stats: "M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z",
  op_profile: "M2 3h12M4 6.5h10M6 10h8M6 13.5h8",
  hlo_stats: "M2 3h12v10H2zM2 6.5h12M2 10h12M6.5 6.5V13",
  source_view: "M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4M9 2.5 7 13.5",
  roofline_model: "M2 2v12h12M3.5 11.5 8 6h6",
  kernel_stats: "M4 4h8v8H4zM6 1.5V4M10 1.5V4M6 12v2.5M10 12v2.5M1.5 6H4M1.5 10H4M12 6h2.5M12 10h2.5",
  time_budget: "M2 3.5h12v3H2zM6.5 3.5v3M11 3.5v3M2 9.5h12v3H2zM9 9.5v3",
  what_if: "M2 3.5h12v3H2zM2 9.5h6v3H2zM14 11h-4M11.5 9.5 10 11l1.5 1.5",
  communication: "M2 5h10M9 2l3 3-3 3M14 11H4M7 8l-3 3 3 3",
  compare: "M2 4h8v3H2zM2 9h12v3H2z",
  trend: "M2 11h4V7h4V4h4M2 14h12",
  trace_viewer: "M2 3h6v2.5H2zM6 7h8v2.5H6zM3.5 11h5v2.5h-5z",
  memory_profile: "M2 13V8l3-3 3 4 3-6 3 4v6z",
  memory_viewer: "M2 5h12v6H2zM5 5v6M8 5v6M11 5v6M4 11v2M8 11v2M12 11v2",
  graph_viewer: "M3 2.5h3v3H3zM10 2.5h3v3h-3zM6.5 10.5h3v3h-3zM4.5 5.5 8 10.5l3.5-5",
  pod_viewer: "M8 1.5 14 5v6l-6 3.5L2 11V5zM8 8l6-3M8 8v6.5M8 8 2 5",
  tf_data_bottleneck_analysis: "M6 1.5h4v3.5H6zM1.5 11h4v3.5h-4zM10.5 11h4v3.5h-4zM8 5v3M3.5 11V8h9v3",
  query:
    "M2 4c0-1.4 2.7-2.5 6-2.5S14 2.6 14 4v8c0 1.4-2.7 2.5-6 2.5S2 13.4 2 12zM2 4c0 1.4 2.7 2.5 6 2.5S14 5.4 14 4M2 8c0 1.4 2.7 2.5 6 2.5S14 9.4 14 8",
  profile_contents: "M3 1.5h7l3 3v10H3zM10 1.5v3h3M5.5 8h5M5.5 11h5",
  // groups, for tools without an icon of their own
  Summary: "M2 13V9h3v4M6.5 13V3h3v10M11 13V6h3v7",
  Ops: "M2 3h12M4 6.5h10M6 10h8M6 13.5h8",
  Time: "M2 3h6v2.5H2zM6 7h8v2.5H6zM3.5 11h5v2.5h-5z",
  Memory: "M2 5h12v6H2zM5 5v6M8 5v6M11 5v6",
  Fleet: "M8 1.5 14 5v6l-6 3.5L2 11V5z",
  Data: "M3 1.5h7l3 3v10H3zM10 1.5v3h3M5.5 8h5M5.5 11h5",
  // shell
  reload: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  light: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9 13 13M3 13l1.1-1.1M11.9 4.1 13 3",
  dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  auto: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 2v12M8 5h4.5M8 8h6M8 11h4.5",
  help: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM6 6.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M8 11.3v.9",
  link: "M6.5 9.5 9.5 6.5M7 4.5l1.8-1.8a2.6 2.6 0 0 1 3.7 3.7L10.8 8M9 11.5l-1.8 1.8a2.6 2.6 0 0 1-3.7-3.7L5.2 8",
  rail: "M2 2.5h12v11H2zM6 2.5v11",
  record: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
  down: "M4 6l4 4 4-4",
  close: "M4 4l8 8M12 4l-8 8",
  warn: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.2v.8",
  host: "M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01",
};

/** An icon by name; a tool without one falls back to its group. */
export function Icon({ name, fallback }: { name: string; fallback?: string }): JSX.Element {
  const path = PATHS[name.replace(/[@^#]+$/, "")] ?? PATHS[fallback ?? ""] ?? PATHS["Data"];
  return (
    <svg
      class="icon"
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.3"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}
