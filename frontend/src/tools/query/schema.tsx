// The tables and columns that a statement can read; a click writes a name into it.
import { useMemo, useState } from "preact/hooks";
import type { QueryTable } from "../../api/query";
import { quoted, searched } from "./model";

interface Props {
  tables: readonly QueryTable[];
  onInsert: (text: string) => void;
}

const TYPES: Readonly<Record<string, string>> = { string: "text", boolean: "true or false" };

export function Schema({ tables, onInsert }: Props) {
  const [text, setText] = useState("");
  const shown = useMemo(() => searched([...tables], text), [tables, text]);
  return (
    <section class="query-schema" aria-label="Tables and columns">
      <input
        class="field wide"
        type="search"
        placeholder="Search tables and columns"
        aria-label="Search tables and columns"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {shown.map(({ name, summary, columns }, i) => (
        <details key={`${name} ${text !== ""}`} open={i === 0 || text !== ""}>
          <summary>
            <b>{name}</b> <span class="dim">{columns.length}</span>
          </summary>
          <p>
            {summary}{" "}
            <button type="button" class="query-insert link" onClick={() => onInsert(quoted(name))}>
              Insert name
            </button>
          </p>
          <ul>
            {columns.map(({ id, type, unit, sentence }) => (
              <li key={id}>
                <button type="button" class="query-insert" data-tip={`${sentence}\nClick: insert`} onClick={() => onInsert(quoted(id))}>
                  {id}
                </button>
                <span class="dim">{unit || TYPES[type] || type}</span>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {shown.length === 0 ? <p class="dim">No table or column matches.</p> : null}
    </section>
  );
}
