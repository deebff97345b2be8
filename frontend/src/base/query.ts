// Query strings as the page shares them with its host: our keys change, every other byte stays as it was.

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text; // A stray percent sign is not worth losing the page over.
  }
}

function segments(search: string): string[] {
  return search.replace(/^\?/, "").split("&").filter((s) => s !== "");
}

function keyOf(segment: string): string {
  return decode(segment.split("=", 1)[0] ?? "");
}

/** The first value of a key, or null; an empty value counts as absent, as the routes have it. */
export function readQuery(search: string, key: string): string | null {
  const found = segments(search).find((s) => keyOf(s) === key);
  const value = found?.includes("=") ? decode(found.slice(found.indexOf("=") + 1)) : "";
  return value === "" ? null : value;
}

/** All keys that are present. */
export function queryKeys(search: string): string[] {
  return segments(search).map(keyOf);
}

function encode(text: string): string {
  // Slashes, commas, colons and @ are legal in a query; leaving them makes links that people can read.
  return encodeURIComponent(text).replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%40/g, "@");
}

/** Sets (or with null removes) keys; returns "" or "?...". Foreign keys keep their bytes and order. */
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
    left.delete(key); // A doubled key keeps its first place only.
    if (value !== null && value !== undefined) out.push(`${encode(key)}=${encode(value)}`);
  }
  for (const [key, value] of left) if (value !== null) out.push(`${encode(key)}=${encode(value)}`);
  return out.length ? `?${out.join("&")}` : "";
}
