import { describe, expect, it } from "vitest";
import { NONE, commandOf, hrefOf, placeOf } from "./editor";
import type { Choice, Editor } from "./editor";

const of = (editor: Editor, root = "", host = ""): Choice => ({ editor, root, host });

describe("the place of a file", () => {
  it.each([
    ["/src/a.py", null, "", "/src/a.py"],
    ["C:\\src\\a.py", null, "", "C:/src/a.py"],
    ["/srv/job/src/a.py", "src/a.py", "/home/me/project/", "/home/me/project/src/a.py"],
    ["src/a.py", null, "/home/me", "/home/me/src/a.py"],
    ["/srv/job/a.py", null, "/home/me", "/srv/job/a.py"],
    ["src/a.py", null, "", null],
    ["src/a.py", "src/a.py", "relative", null],
  ])("of %s, below the root %s, with the directory %s is %s", (recorded, below, root, place) => {
    expect(placeOf(of("vscode", root), recorded, below)).toBe(place);
  });
});

describe("the address of a line", () => {
  it.each([
    [of("vscode"), "/src/a b#1.py", "vscode://file/src/a%20b%231.py:7"],
    [of("vscode"), "C:/src/a.py", "vscode://file/C:/src/a.py:7"],
    [of("vscode_ssh", "", "me@node 1"), "/src/a.py", "vscode://vscode-remote/ssh-remote+me%40node%201/src/a.py:7"],
    [of("vscode_ssh"), "/src/a.py", null],
    [of("jetbrains"), "/src/a&b.py", "pycharm://open?file=%2Fsrc%2Fa%26b.py&line=7"],
    [of("neovim"), "/src/a.py", null],
    [NONE, "/src/a.py", null],
  ])("%o %s", (choice, path, href) => {
    expect(hrefOf(choice, path, 7)).toBe(href);
  });

  it("is a command for Neovim, whose words a shell takes as they are", () => {
    expect(commandOf(of("neovim"), "/src/a.py", 7)).toBe('nvim --server "$NVIM" --remote +7 /src/a.py');
    expect(commandOf(of("neovim"), "/src/$(id) it's.py", 7)).toBe(`nvim --server "$NVIM" --remote +7 '/src/$(id) it'\\''s.py'`);
    expect(commandOf(of("vscode"), "/src/a.py", 7)).toBeNull();
  });
});
