// The title of the page and of the tab: what is shown, then the product.
import { addressWindow, ownsAddress } from "./url_state";

const PRODUCT = "Profile";
let shown = PRODUCT;
/** The tab's title before ours, to be restored when TensorBoard opens another plugin. */
let before: string | null = null;

export function setTitle(parts: readonly (string | undefined)[]): void {
  shown = [...parts.filter(Boolean), PRODUCT].join(" · ");
  document.title = shown;
  followTab();
}

/** Inside TensorBoard of the same origin: the title of the tab, ours while the plugin is open. */
export function followTab(own: Window = window): void {
  const tab = addressWindow(own);
  if (tab === own) return;
  if (ownsAddress(tab)) {
    before ??= tab.document.title;
    tab.document.title = shown;
  } else if (before !== null) {
    tab.document.title = before;
    before = null;
  }
}
