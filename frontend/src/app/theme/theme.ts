// Theme choice: light, dark or automatic, which follows TensorBoard or a notebook when embedded, else the system.
import type { Theme } from "../../base/colour";

export type ThemeChoice = "auto" | Theme;

const KEY = "profile-theme";
/** What marks the dark theme of TensorBoard, JupyterLab, VS Code, Colab and marimo, on the body or the root of their documents. */
const DARK =
  "body.dark-mode, body[data-jp-theme-light=false], body.vscode-dark, body.vscode-high-contrast, html[theme=dark], html.dark, body.dark";
const MARKS = ["class", "theme", "data-jp-theme-light"];

export function nextChoice(choice: ThemeChoice): ThemeChoice {
  return choice === "auto" ? "light" : choice === "light" ? "dark" : "auto";
}

/** The document around us that has a theme of its own, TensorBoard's or a notebook's; null for none, or of another origin. */
function hostDocument(own: Window): Document | null {
  try {
    if (own.parent === own) return null;
    const { document } = own.parent;
    return own.profileNotebook || document.querySelector("tb-webapp") ? document : null;
  } catch {
    return null;
  }
}

/** The theme that a choice resolves to now. */
export function resolveTheme(choice: ThemeChoice, own: Window = window): Theme {
  if (choice !== "auto") return choice;
  const host = hostDocument(own);
  if (host) return host.querySelector(DARK) ? "dark" : "light";
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
  const host = hostDocument(own);
  const observer = host ? new MutationObserver(changed) : null;
  for (const element of host ? [host.documentElement, host.body] : [])
    observer?.observe(element, { attributes: true, attributeFilter: MARKS });
  return () => {
    query?.removeEventListener("change", changed);
    observer?.disconnect();
  };
}
