// Before each file of component tests, which share one document: as if nothing had been in it.
import { vi } from "vitest";

vi.useRealTimers();
vi.unstubAllGlobals();
document.body.replaceChildren();
for (const name of document.documentElement.getAttributeNames()) document.documentElement.removeAttribute(name);
document.title = "";
window.localStorage.clear();
window.sessionStorage.clear();
window.history.replaceState(null, "", "/");
