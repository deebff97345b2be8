import { render } from "preact";
import { afterEach, expect, it } from "vitest";
import { unmount } from "../../base/testing";
import { NONE, saveEditor } from "./editor";
import type { Choice } from "./editor";
import { InEditor } from "./in_editor";

const root = document.createElement("div");
afterEach(() => {
  unmount(root);
  localStorage.removeItem("profile-editor");
});

function shown(choice: Partial<Choice>, place: string): string | null {
  saveEditor({ ...NONE, ...choice });
  render(<InEditor key={place} place={place} />, root);
  return root.querySelector("a")?.getAttribute("href") ?? (root.textContent?.trim() || null);
}

it("opens a source line in the chosen editor", () => {
  expect(shown({ editor: "vscode" }, "/home/me/a.py:12")).toBe("vscode://file/home/me/a.py:12");
  expect(shown({ editor: "vscode" }, "/home/me/a.py:3 (of add.1)")).toBe("vscode://file/home/me/a.py:3");
  expect(shown({ editor: "vscode", root: "/src" }, "job/a.py:3")).toBe("vscode://file/src/job/a.py:3");
  expect(shown({ editor: "jetbrains" }, "C:\\me\\a.py:3 (forward)")).toBe("pycharm://open?file=C%3A%2Fme%2Fa.py&line=3");
  expect(shown({ editor: "neovim" }, "/home/me/a.py:12")).toBe("Copy the command for Neovim");
});

it("is absent without an editor, a line, or the place of the file", () => {
  expect(shown({}, "/home/me/a.py:12")).toBeNull();
  expect(shown({ editor: "vscode" }, "/home/me/a.py")).toBeNull();
  expect(shown({ editor: "vscode" }, "f32[8]{0}:12")).toBeNull();
  expect(shown({ editor: "vscode" }, "a.py:12")).toBeNull();
});
