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

// jsdom draws nothing: a chart whose engine has loaded before its test ends draws into the void instead of failing.
const nothing = (): unknown => ({ width: 0, addColorStop: () => undefined });
const context: object = new Proxy<Record<PropertyKey, unknown>>({}, { get: (known, name) => (name in known ? known[name] : nothing) });
HTMLCanvasElement.prototype.getContext = (() => context) as unknown as HTMLCanvasElement["getContext"];
