// Opens a source line in the user's editor, and chooses which.
import { useState } from "preact/hooks";
import { CopyButton } from "../../widgets/content/copy_button";
import { EDITORS, commandOf, hrefOf, placeOf, readEditor, saveEditor } from "../../widgets/content/editor";
import type { Choice } from "../../widgets/content/editor";

interface Props {
  file: string;
  line: number;
  /** The path of the file below the server's source root; null if it has none. */
  below: string | null;
}

export function EditorLink({ file, line, below }: Props) {
  const [choice, choose] = useState(readEditor);
  const set = (change: Partial<Choice>): void => {
    const next = { ...choice, ...change };
    saveEditor(next);
    choose(next);
  };
  const path = placeOf(choice, file, below);
  const href = path === null ? null : hrefOf(choice, path, line);
  const command = path === null ? null : commandOf(choice, path, line);
  const label = EDITORS.find(({ id }) => id === choice.editor)?.label ?? "";
  return (
    <div class="src-editor">
      {href !== null ? (
        <a class="link" href={href} data-tip={`${path ?? ""}:${String(line)}`}>
          Open in {label}
        </a>
      ) : null}
      {command !== null ? <CopyButton text={() => command} label="Copy the command for Neovim" title={command} class="ghost" /> : null}
      <details>
        <summary>Editor</summary>
        <label>
          <span>Open lines in</span>
          <select
            class="field"
            value={choice.editor}
            onChange={(event) => set({ editor: EDITORS[event.currentTarget.selectedIndex]?.id ?? "none" })}
          >
            {EDITORS.map((one) => (
              <option key={one.id} value={one.id}>
                {one.label}
              </option>
            ))}
          </select>
        </label>
        {choice.editor === "none" ? null : (
          <label>
            <span data-tip="Empty: files are where they were recorded.">Sources on that machine</span>
            <input
              class="field"
              type="text"
              placeholder="/home/me/project"
              value={choice.root}
              onChange={(event) => set({ root: event.currentTarget.value.trim() })}
            />
          </label>
        )}
        {choice.editor === "vscode_ssh" ? (
          <label>
            <span>Host of SSH</span>
            <input class="field" type="text" value={choice.host} onChange={(event) => set({ host: event.currentTarget.value.trim() })} />
          </label>
        ) : null}
        {choice.editor !== "none" && path === null ? <p class="dim">The recorded path is relative: say where the sources are.</p> : null}
      </details>
    </div>
  );
}
