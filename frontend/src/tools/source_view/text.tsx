// The text of a source file with the heat of its lines in the margin: from the server's source root, or pasted.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Client } from "../../api/client";
import { asDict, asText } from "../../api/payload/fields";
import { ApiError } from "../../api/error";
import { formatExact, formatPercent, formatQuantity } from "../../base/format";
import { useLoad } from "../../widgets/status/use_load";
import { EditorLink } from "./editor_link";
import { LABELS, UNITS } from "./grid";
import type { Measure, Node } from "./tree";

/** Lines around the chosen one, and at most in all, so that a large file stays quick. */
const AROUND = 2000;

interface Props {
  client: Client;
  file: string;
  /** The chosen line; null: the file or a function. */
  line: number | null;
  lines: ReadonlyMap<number, Node>;
  measure: Measure;
  total: number;
  onLine: (line: number) => void;
}

/** Pasted texts by file, while the page is open. */
const pasted = new Map<string, string>();

interface Given {
  text: string;
  from: string;
}

/** The text that the server has, or why it has none. */
function readText(value: unknown): Given | string {
  const found = asDict(value, "the text of a file");
  return found["text"] === null
    ? asText(found["reason"], "the reason")
    : { text: asText(found["text"], "the text"), from: asText(found["file"], "its path") };
}

export function SourceText(props: Props) {
  const { client, file } = props;
  const [, draw] = useState(0);
  const answer = useLoad(file, async (signal) => readText(await client.json<unknown>("source_text", { file }, { signal })));
  const own = pasted.get(file);
  const sent = typeof answer.data === "string" ? null : answer.data;
  const given: Given | null = own === undefined ? sent : { text: own, from: "pasted text" };
  const link = props.line === null ? null : <EditorLink file={file} line={props.line} below={sent?.from ?? null} />;
  if (given === null && answer.data === null && answer.error === null) return <p class="dim">Reading the file…</p>;
  if (given !== null)
    return (
      <>
        {link}
        <p class="dim src-from">
          {given.from}
          {own === undefined ? null : (
            <button
              type="button"
              class="link"
              onClick={() => {
                pasted.delete(file);
                draw((n) => n + 1);
              }}
            >
              Remove the text
            </button>
          )}
        </p>
        <Listing {...props} text={given.text} />
      </>
    );
  const refused = answer.error instanceof ApiError ? answer.error.message : "The server did not send the file.";
  const why = typeof answer.data === "string" ? answer.data : refused;
  return (
    <>
      {link}
      <Paste
        why={why}
        onText={(text) => {
          pasted.set(file, text);
          draw((n) => n + 1);
        }}
      />
    </>
  );
}

function Paste({ why, onText }: { why: string; onText: (text: string) => void }) {
  const [text, setText] = useState("");
  return (
    <div class="src-paste">
      <p class="dim">{why} Or paste the text of the file; it stays in this page.</p>
      <textarea class="field" rows={3} aria-label="Text of the file" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="button" class="button" disabled={text.trim() === ""} onClick={() => onText(text)}>
        Show the text
      </button>
    </div>
  );
}

function Listing({ text, line, lines, measure, total, onLine }: Props & { text: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const list = box.current;
    const at = list?.querySelector<HTMLElement>(".chosen, .hot");
    // Only the list scrolls, not the details around it.
    if (list && at) list.scrollTop = at.offsetTop - list.offsetTop - list.clientHeight / 2;
  }, [line, text]);
  const all = text.split(/\r?\n/);
  const middle = line ?? [...lines.keys()].sort((a, b) => a - b)[0] ?? 1;
  const first = Math.max(0, middle - 1 - AROUND);
  const shown = all.slice(first, first + 2 * AROUND);
  const unknown = [...lines.keys()].filter((number) => number > all.length).length;
  return (
    <>
      {unknown > 0 ? <p class="dim">The file is shorter than when it was profiled: it may have changed.</p> : null}
      <div class="src-text" ref={box} tabIndex={0} role="region" aria-label="Text of the file">
        {shown.map((content, i) => (
          <TextLine
            key={first + i}
            number={first + i + 1}
            content={content}
            node={lines.get(first + i + 1) ?? null}
            chosen={first + i + 1 === line}
            measure={measure}
            total={total}
            onLine={onLine}
          />
        ))}
      </div>
    </>
  );
}

interface TextLineProps {
  number: number;
  content: string;
  node: Node | null;
  chosen: boolean;
  measure: Measure;
  total: number;
  onLine: (line: number) => void;
}

function TextLine({ number, content, node, chosen, measure, total, onLine }: TextLineProps) {
  const value = node?.sums[measure] ?? 0;
  const share = total > 0 ? value / total : 0;
  const tip = node === null ? undefined : `${LABELS[measure]}: ${formatExact(value, UNITS[measure])}\n${formatPercent(100 * share)} of all`;
  return (
    <div class={`src-code${chosen ? " chosen" : node !== null ? " hot" : ""}`} data-tip={tip}>
      <span class="number">
        {value > 0 ? <i aria-hidden="true" style={{ width: `${String(Math.max(2, 100 * share))}%` }} /> : null}
        {node === null ? null : (
          <button type="button" class="link" onClick={() => onLine(number)}>
            {value > 0 ? formatQuantity(value, UNITS[measure]) : "0"}
          </button>
        )}
      </span>
      <span class="number dim">{number}</span>
      <code>{content}</code>
    </div>
  );
}
