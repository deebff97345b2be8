// Beside a source line: opens it in the editor that the user chose on the page Source.
import { hrefOf, commandOf, placeOf, readEditor, EDITORS } from "./editor";
import { CopyButton } from "./copy_button";

/** `FILE.py:LINE`, perhaps with what else it is of: `a.py:3 (of add.1)`. */
const PLACE = /^([^\n]*[^\s:]\.\w+):(\d+)(?: \([^()\n]*\))?$/;

/** After a space; nothing if no editor is chosen, the text is no source line, or where its file is is not known. */
export function InEditor({ place }: { place: string }) {
  const found = PLACE.exec(place);
  const choice = readEditor();
  if (choice.editor === "none" || found?.[1] === undefined) return null;
  const path = placeOf(choice, found[1], null);
  if (path === null) return null;
  const line = Number(found[2]);
  const href = hrefOf(choice, path, line);
  const command = commandOf(choice, path, line);
  const label = EDITORS.find(({ id }) => id === choice.editor)?.label ?? "";
  if (command !== null) {
    return (
      <>
        {" "}
        <CopyButton text={() => command} label="Copy the command for Neovim" title={command} class="ghost" />
      </>
    );
  }
  if (href === null) return null;
  return (
    <>
      {" "}
      <a class="link in-editor" href={href} aria-label={`Open in ${label}`} data-tip={`Open in ${label}: ${path}:${String(line)}`}>
        ↗
      </a>
    </>
  );
}
