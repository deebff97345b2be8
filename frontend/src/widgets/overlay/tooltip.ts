// One tooltip for the whole page: elements with data-tip show its text on hover and on keyboard focus.
import "./tooltip.css";

const DELAY_MS = 250;
const GAP = 6;
const EDGE = 8;

export interface Box {
  left: number;
  top: number;
  bottom: number;
  width: number;
}

/** Below the element, or above it if there is no room, always within the window. */
function placeTip(
  target: Box,
  tip: { width: number; height: number },
  view: { width: number; height: number },
): { left: number; top: number } {
  const below = target.bottom + GAP;
  const top = below + tip.height + EDGE > view.height ? Math.max(EDGE, target.top - GAP - tip.height) : below;
  const left = Math.max(EDGE, Math.min(target.left + Math.min(target.width, 24) / 2 - 12, view.width - tip.width - EDGE));
  return { left, top };
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
    tip.textContent = text;
    tip.hidden = false;
    const view = { width: root.documentElement.clientWidth, height: root.documentElement.clientHeight };
    const { left, top } = placeTip(target.getBoundingClientRect(), { width: tip.offsetWidth, height: tip.offsetHeight }, view);
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
