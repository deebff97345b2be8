// Query strings that the page shares with TensorBoard: our keys change, every other byte is preserved.

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text; // malformed percent escape: keep the text as it is
  }
}

function segments(search: string): string[] {
  return search
    .replace(/^\?/, "")
    .split("&")
    .filter((s) => s !== "");
}

function keyOf(segment: string): string {
  return decode(segment.split("=", 1)[0] ?? "");
}

/** The first value of a key, or null; an empty value counts as absent, as in the server's routes. */
export function readQuery(search: string, key: string): string | null {
  const matching = segments(search).find((s) => keyOf(s) === key);
  const value = matching?.includes("=") ? decode(matching.slice(matching.indexOf("=") + 1)) : "";
  return value === "" ? null : value;
}

function encode(text: string): string {
  // Slashes, commas, colons and @ are legal in a query; unescaped they keep links readable.
  return encodeURIComponent(text).replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%40/g, "@");
}

/** Sets keys, or removes them with null; returns "" or "?...". Other keys keep their bytes and order. */
export function patchQuery(search: string, patch: Readonly<Record<string, string | null>>): string {
  const left = new Map(Object.entries(patch));
  const out: string[] = [];
  for (const segment of segments(search)) {
    const key = keyOf(segment);
    if (!(key in patch)) {
      out.push(segment);
      continue;
    }
    const value = left.get(key);
    left.delete(key); // only the first occurrence of a repeated key is kept
    if (value !== null && value !== undefined) out.push(`${encode(key)}=${encode(value)}`);
  }
  for (const [key, value] of left) if (value !== null) out.push(`${encode(key)}=${encode(value)}`);
  return out.length ? `?${out.join("&")}` : "";
}
