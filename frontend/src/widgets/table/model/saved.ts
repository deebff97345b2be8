// Sorting, filters and hidden columns as short texts for the URL, and back.

export interface SortKey {
  id: string;
  desc: boolean;
}

export interface FilterText {
  id: string;
  value: string;
}

/** Where a table keeps its state; keys are `sort`, `filter`, `hide` and `row`, the marked row in the form of filters. */
export interface TableStore {
  get(key: string): string | null;
  set(patch: Readonly<Record<string, string | null>>): void;
}

/** Escapes separators in names and texts. */
function escape(text: string): string {
  return text.replace(/[\\,;~]/g, (mark) => `\\${mark}`);
}

/** Splits at separators that are not escaped. */
function split(text: string, mark: string): string[] {
  const parts = [""];
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === "\\") parts[parts.length - 1] += char + text.charAt(++i);
    else if (char === mark) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
}

const unescape = (text: string): string => text.replace(/\\(.)/g, "$1");

/** `-time,name` is time descending, then name ascending; null when there is no sorting. */
export function writeSort(sort: readonly SortKey[]): string | null {
  return sort.map(({ id, desc }) => (desc ? `-${escape(id)}` : escape(id))).join(",") || null;
}

export function readSort(text: string | null, known: ReadonlySet<string>): SortKey[] {
  return split(text ?? "", ",")
    .map((part) => ({ id: unescape(part.replace(/^-/, "")), desc: part.startsWith("-") }))
    .filter(({ id }) => known.has(id));
}

/** `name~fusion;time~> 5`. */
export function writeFilters(filters: readonly FilterText[]): string | null {
  return (
    filters
      .filter((f) => f.value !== "")
      .map(({ id, value }) => `${escape(id)}~${escape(value)}`)
      .join(";") || null
  );
}

export function readFilters(text: string | null, known: ReadonlySet<string>): FilterText[] {
  return split(text ?? "", ";")
    .map((part) => split(part, "~").map(unescape))
    .map(([id = "", value = ""]) => ({ id, value }))
    .filter(({ id, value }) => known.has(id) && value !== "");
}

export function writeHidden(ids: readonly string[]): string | null {
  return ids.map(escape).join(",") || null;
}

export function readHidden(text: string | null, known: ReadonlySet<string>): string[] {
  return split(text ?? "", ",")
    .map(unescape)
    .filter((id) => known.has(id));
}
