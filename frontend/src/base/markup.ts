// Links and line breaks of the server's HTML sentences as data; all other markup is dropped.

interface Segment {
  text: string;
  /** Only http and https addresses. */
  href: string | null;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'", apos: "'", nbsp: " " };

/** Text with its entities replaced. */
export function unescapeHtml(text: string): string {
  return text.replace(/&([a-z]+|#39|#x27);/gi, (all, name: string) => ENTITIES[name.toLowerCase()] ?? all);
}

function plain(html: string): string {
  return unescapeHtml(html.replace(/<br\s*\/?>/gi, "\n").replace(/<\/?[a-z][^>]*>/gi, ""));
}

function safe(href: string): string | null {
  return /^https?:\/\//i.test(href) ? href : null;
}

/** Texts and links of a sentence, in order. */
export function segments(html: string): Segment[] {
  const parsed: Segment[] = [];
  const add = (text: string, href: string | null): void => {
    if (text !== "") parsed.push({ text, href });
  };
  const link = /<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')[^>]*>(.*?)<\/a>/gis;
  let position = 0;
  for (const match of html.matchAll(link)) {
    add(plain(html.slice(position, match.index)), null);
    add(plain(match[3] ?? ""), safe(plain(match[1] ?? match[2] ?? "")));
    position = match.index + match[0].length;
  }
  add(plain(html.slice(position)), null);
  return parsed;
}
