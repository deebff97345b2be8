// Keyboard helpers shared by tables, lists and the timeline.

interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** A key press as text, modifiers first: "Ctrl+c", "Shift+ArrowDown", "?". Command counts as Ctrl. */
export function keyName(event: KeyPress): string {
  const printable = event.key.length === 1;
  const parts: string[] = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  // A printable character already implies Shift ("?" needs it on some keyboards only).
  if (event.shiftKey && !printable) parts.push("Shift");
  parts.push(printable && parts.length > 0 ? event.key.toLowerCase() : event.key);
  return parts.join("+");
}

/** Whether a text field has the focus, so that single-letter shortcuts must not act. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit", "range"].includes(target.type);
}

/** The next index in a list of `count` for an arrow, Home, End or Page key; null for other keys. */
export function moveIndex(key: string, index: number, count: number, page = 10): number | null {
  const last = count - 1;
  const clamped = (i: number): number => Math.max(0, Math.min(last, i));
  switch (key) {
    case "ArrowDown":
      return clamped(index + 1);
    case "ArrowUp":
      return clamped(index - 1);
    case "PageDown":
      return clamped(index + page);
    case "PageUp":
      return clamped(index - page);
    case "Home":
      return clamped(0);
    case "End":
      return clamped(last);
    default:
      return null;
  }
}
