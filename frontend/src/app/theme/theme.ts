// Theme choice: light, dark or automatic, which follows TensorBoard when embedded, else the system.
import type { Theme } from "../../base/colour";

export type ThemeChoice = "auto" | Theme;

const KEY = "profile-theme";
const DARK_CLASS = "dark-mode";

export function nextChoice(choice: ThemeChoice): ThemeChoice {
  return choice === "auto" ? "light" : choice === "light" ? "dark" : "auto";
}

/** The body of TensorBoard's page; null when not embedded or of another origin. */
function hostBody(own: Window): HTMLElement | null {
  try {
    if (own.parent === own) return null;
    const body = own.parent.document.body;
    return own.parent.document.querySelector("tb-webapp") ? body : null;
  } catch {
    return null;
  }
}

/** The theme that a choice resolves to now. */
export function resolveTheme(choice: ThemeChoice, own: Window = window): Theme {
  if (choice !== "auto") return choice;
  const body = hostBody(own);
  if (body) return body.classList.contains(DARK_CLASS) ? "dark" : "light";
  return own.matchMedia?.("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function readChoice(own: Window = window): ThemeChoice {
  try {
    const value = own.localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto"; // Storage may be disabled.
  }
}

export function saveChoice(choice: ThemeChoice, own: Window = window): void {
  try {
    if (choice === "auto") own.localStorage.removeItem(KEY);
    else own.localStorage.setItem(KEY, choice);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

/** Calls back when the automatic theme may have changed; returns a function that stops listening. */
export function watchTheme(changed: () => void, own: Window = window): () => void {
  const query = own.matchMedia?.("(prefers-color-scheme: dark)");
  query?.addEventListener("change", changed);
  const body = hostBody(own);
  const observer = body ? new MutationObserver(changed) : null;
  if (body) observer?.observe(body, { attributes: true, attributeFilter: ["class"] });
  return () => {
    query?.removeEventListener("change", changed);
    observer?.disconnect();
  };
}
