// Decodes the inference profile: per model, tables of requests, batches and tensor patterns.
import { asList, asTable, badAnswer, columnOf, textsOf } from "../../api/payload/fields";
import { withUnits, withoutColumns } from "../../base/table/transform";
import type { TableData } from "../../base/table/table_data";

export interface Model {
  name: string;
  requests: TableData;
  /** Null without batching. */
  batches: TableData | null;
  patterns: TableData | null;
}

const WHAT = "the inference profile";

/** Removes the column of trace viewer links if no row has one. */
function withoutEmptyLinks(table: TableData): TableData {
  const links = columnOf(table, "trace_viewer_url");
  return links?.every((link) => link === null || link === "" || link === "N/A") ? withoutColumns(table, ["trace_viewer_url"]) : table;
}

/** Replaces "N/A" by null. */
function blank(table: TableData): TableData {
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, values: column.values.map((value) => (value === "N/A" ? null : value)) })),
  };
}

/** Converts a text column to numbers, so that it can be sorted; rows without a value become null. */
function numeric(table: TableData, id: string): TableData {
  return {
    ...table,
    columns: table.columns.map((column) =>
      column.id === id
        ? { ...column, kind: "number", values: column.values.map((value) => (value === null || value === "" ? null : Number(value))) }
        : column,
    ),
  };
}

const tidy = (table: TableData): TableData =>
  numeric(blank(withoutEmptyLinks(withUnits(table, { batching_efficiency: "fraction" }))), "throughput");

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readInference(value: unknown): Model[] {
  const tables = asList(value, WHAT).map((one) => asTable(one, `a table of ${WHAT}`));
  const [head, ...rest] = tables;
  if (!head) throw badAnswer(`${WHAT} is empty`);
  const names = textsOf(head, "model_name", WHAT);
  const models: Model[] = [];
  for (const table of rest) {
    if (columnOf(table, "request_id"))
      models.push({ name: names[models.length] ?? `Model ${models.length + 1}`, requests: tidy(table), batches: null, patterns: null });
    else {
      const model = models.at(-1);
      if (!model) throw badAnswer(`${WHAT} does not begin with requests`);
      if (columnOf(table, "batch_id")) model.batches = tidy(table);
      else if (columnOf(table, "tensor_pattern")) model.patterns = table;
    }
  }
  return models;
}

/** For a profile without requests the server sends one average of zeros. */
export function hasRequests({ requests }: Model): boolean {
  const latency = columnOf(requests, "latency_ms") ?? [];
  return latency.some((value) => typeof value === "number" && value > 0);
}
