// Reads the answers out of the document of a saved report.
import { StoredAnswers } from "../../api/stored";
import type { StoredIndex } from "../../api/stored";

function content(own: Document, id: string): string {
  const text = own.getElementById(id)?.textContent;
  if (text === null || text === undefined) throw new Error(`the report lacks its part ${id}: the file is cut`);
  return text;
}

export function embeddedAnswers(own: Document): StoredAnswers {
  const index = JSON.parse(content(own, "report-index")) as StoredIndex;
  const text = atob(content(own, "report-data"));
  const data = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) data[i] = text.charCodeAt(i);
  return new StoredAnswers(index, data);
}
