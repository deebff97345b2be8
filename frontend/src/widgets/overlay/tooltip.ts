// One tooltip for the whole page: elements with data-tip show its text on hover and on keyboard focus.
import { h, render } from "preact";
import { RichText } from "../content/rich_text";
import { EDGE, placeBeside, viewSize } from "./place";
import type { Rect, Size } from "./place";
import "./tooltip.css";

const DELAY_MS = 250;

/** Beside the element; over it only if neither side has room. */
function placeTip(target: Rect & { width: number }, tip: Size, view: Size): { left: number; top: number } {
  const middle = target.left + Math.min(target.width, 24) / 2 - 12;
  const { left, top, bottom, room } = placeBeside({ ...target, left: middle }, tip, view);
  if (tip.height > room) return { left, top: Math.max(EDGE, view.height - tip.height - EDGE) };
  return { left, top: top ?? view.height - (bottom ?? 0) - tip.height };
}

/** Installs the listeners; returns the function that removes them. */
export function installTooltips(root: Document = document): () => void {
  const tip = root.createElement("div");
  tip.className = "tooltip";
  tip.id = "tooltip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  root.body.append(tip);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let owner: Element | null = null;

  const hide = (): void => {
    clearTimeout(timer);
    tip.hidden = true;
    owner?.removeAttribute("aria-describedby");
    owner = null;
  };
  const show = (target: Element): void => {
    const text = target.getAttribute("data-tip");
    if (!text || !target.isConnected) return;
    render(h(RichText, { text }), tip);
    tip.hidden = false;
    const { left, top } = placeTip(target.getBoundingClientRect(), { width: tip.offsetWidth, height: tip.offsetHeight }, viewSize(root));
    tip.style.left = `${left}px`;
    tip.style.top = `${top}px`;
    owner = target;
    target.setAttribute("aria-describedby", tip.id);
  };
  const near = (event: Event): Element | null => (event.target instanceof Element ? event.target.closest("[data-tip]") : null);

  const over = (event: Event): void => {
    const target = near(event);
    if (target === owner) return;
    hide();
    if (target) timer = setTimeout(() => show(target), DELAY_MS);
  };
  const focus = (event: Event): void => {
    hide();
    const target = near(event);
    if (target?.matches(":focus-visible")) show(target);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") hide();
  };

  root.addEventListener("pointerover", over);
  root.addEventListener("focusin", focus);
  root.addEventListener("focusout", hide);
  root.addEventListener("pointerdown", hide);
  root.addEventListener("scroll", hide, true);
  root.addEventListener("keydown", key);
  return () => {
    hide();
    tip.remove();
    root.removeEventListener("pointerover", over);
    root.removeEventListener("focusin", focus);
    root.removeEventListener("focusout", hide);
    root.removeEventListener("pointerdown", hide);
    root.removeEventListener("scroll", hide, true);
    root.removeEventListener("keydown", key);
  };
}
