// For tests: tables, and unmounting a component completely.
import { render } from "preact";
import { act } from "preact/test-utils";
import type { Cell, TableData } from "./table/table_data";

/** A table with these values, of columns whose labels are their ids. */
export function tableOf(values: Readonly<Record<string, readonly Cell[]>>): TableData {
  const columns = Object.entries(values).map(([id, cells]) => {
    const kind = typeof cells.find((cell) => cell !== null) === "number" ? "number" : "string";
    return { id, label: id, kind, unit: null, help: null, values: cells } as const;
  });
  return { columns, rowCount: columns[0]?.values.length ?? 0, properties: {} };
}

/**
 * Removes what was rendered into `root` and runs the cleanup of its effects immediately.
 * Preact runs it a frame later, when timers and polls would already have outlived the test and its window.
 */
export function unmount(root: Element): void {
  void act(() => render(null, root));
}
