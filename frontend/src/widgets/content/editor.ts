// Addresses that open a source line in an editor of the user's machine. Pure, but for the choice, which the browser keeps.

export type Editor = "none" | "vscode" | "vscode_ssh" | "jetbrains" | "neovim";

export const EDITORS: readonly { id: Editor; label: string }[] = [
  { id: "none", label: "No editor" },
  { id: "vscode", label: "VS Code" },
  { id: "vscode_ssh", label: "VS Code over SSH" },
  { id: "jetbrains", label: "PyCharm" },
  { id: "neovim", label: "Neovim" },
];

export interface Choice {
  editor: Editor;
  /** Directory of the sources on the machine of the editor; "": files are where they were recorded. */
  root: string;
  /** Host of VS Code over SSH. */
  host: string;
}

export const NONE: Choice = { editor: "none", root: "", host: "" };
const KEY = "profile-editor";

export function readEditor(own: Window = window): Choice {
  try {
    const kept: unknown = JSON.parse(own.localStorage.getItem(KEY) ?? "null");
    if (typeof kept !== "object" || kept === null) return NONE;
    const { editor, root, host } = kept as Record<string, unknown>;
    const known = EDITORS.find(({ id }) => id === editor);
    return { editor: known?.id ?? "none", root: typeof root === "string" ? root : "", host: typeof host === "string" ? host : "" };
  } catch {
    return NONE; // Storage may be disabled.
  }
}

export function saveEditor(choice: Choice, own: Window = window): void {
  try {
    own.localStorage.setItem(KEY, JSON.stringify(choice));
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

const isAbsolute = (path: string): boolean => /^(?:\/|[A-Za-z]:[\\/])/.test(path);

/** The path on the machine of the editor; null if it is not known. `below`: the path below the server's source root. */
export function placeOf({ root }: Choice, recorded: string, below: string | null): string | null {
  const inside = below ?? (isAbsolute(recorded) ? null : recorded);
  const path = root !== "" && inside !== null ? `${root.replace(/[\\/]+$/, "")}/${inside}` : recorded;
  return isAbsolute(path) ? path.replace(/\\/g, "/") : null;
}

const escaped = (path: string): string =>
  path
    .split("/")
    .map(encodeURIComponent)
    .join("/")
    .replace(/^([A-Za-z])%3A/, "$1:");
const withSlash = (path: string): string => (path.startsWith("/") ? path : `/${path}`);

/** The address that opens a line; null for editors without one. */
export function hrefOf({ editor, host }: Choice, path: string, line: number): string | null {
  switch (editor) {
    case "vscode":
      return `vscode://file${withSlash(escaped(path))}:${String(line)}`;
    case "vscode_ssh":
      return host === ""
        ? null
        : `vscode://vscode-remote/ssh-remote+${encodeURIComponent(host)}${withSlash(escaped(path))}:${String(line)}`;
    case "jetbrains":
      return `pycharm://open?file=${encodeURIComponent(path)}&line=${String(line)}`;
    case "neovim":
    case "none":
      return null;
  }
}

/** A word of a shell. */
const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/** The command that opens a line in the Neovim that a terminal runs in; null for other editors. */
export const commandOf = ({ editor }: Choice, path: string, line: number): string | null =>
  editor === "neovim" ? `nvim --server "$NVIM" --remote +${String(line)} ${word(path)}` : null;
