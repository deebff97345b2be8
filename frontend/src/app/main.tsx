// Start of the page: one client, one address bar, one shell.
import { render } from "preact";
import { makeClient } from "../api/client";
import { installTooltips } from "../widgets/tooltip";
import { Shell } from "./shell";
import { readChoice, resolveTheme } from "./theme";
import { PAGE_KEYS, SHELL_KEYS } from "./view";
import { addressWindow, makeUrlState, watchAddress } from "./url_state";
import "./tokens.css";
import "./base.css";
import "./shell.css";
import "./pages.css";

const root = document.getElementById("app");
if (root) {
  // Before the first paint, so that a dark page never flashes white.
  document.documentElement.dataset["theme"] = resolveTheme(readChoice());
  const target = addressWindow(window);
  const state = makeUrlState(target, [...SHELL_KEYS, ...PAGE_KEYS]);
  if (target !== window) watchAddress(state);
  const address = (): string => {
    state.repair();
    return target.location.href;
  };
  render(<Shell client={makeClient(document.baseURI)} state={state} address={address} />, root);
  installTooltips();
}
