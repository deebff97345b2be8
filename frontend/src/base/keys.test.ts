import { describe, expect, it } from "vitest";
import { isTyping, keyName, moveIndex } from "./keys";

const press = (key: string, mods: Partial<Record<"ctrlKey" | "metaKey" | "altKey" | "shiftKey", boolean>> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...mods,
});

describe("keys", () => {
  it("names key presses", () => {
    expect(keyName(press("c", { ctrlKey: true }))).toBe("Ctrl+c");
    expect(keyName(press("C", { metaKey: true, shiftKey: true }))).toBe("Ctrl+c");
    expect(keyName(press("ArrowDown", { shiftKey: true }))).toBe("Shift+ArrowDown");
    expect(keyName(press("?", { shiftKey: true }))).toBe("?");
    expect(keyName(press("w"))).toBe("w");
  });

  it("distinguishes fields from buttons", () => {
    const input = document.createElement("input");
    const box = document.createElement("input");
    box.type = "checkbox";
    expect([isTyping(input), isTyping(box), isTyping(document.body), isTyping(null)]).toEqual([true, false, false, false]);
  });

  it("moves in a list", () => {
    expect(moveIndex("ArrowDown", 0, 3)).toBe(1);
    expect(moveIndex("ArrowDown", 2, 3)).toBe(2);
    expect(moveIndex("PageUp", 2, 300)).toBe(0);
    expect(moveIndex("End", 0, 3)).toBe(2);
    expect(moveIndex("x", 0, 3)).toBeNull();
  });
});
