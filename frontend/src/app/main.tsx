// Entry point: creates the client and the URL state and mounts the shell.
import { render } from "preact";
import { makeClient } from "../api/client";
import { installTooltips } from "../widgets/overlay/tooltip";
import { Shell } from "./shell/shell";
import { readChoice, resolveTheme } from "./theme/theme";
import { followTab } from "./address/title";
import { printInLight } from "./theme/print";
import { PAGE_KEYS, SHELL_KEYS, renameOldKeys } from "./address/view";
import { addressWindow, makeUrlState, queryBar, watchAddress } from "./address/url_state";
import "./theme/styles";

const root = document.getElementById("app");
if (root) {
  // Before the first paint, so that a dark page does not flash white.
  document.documentElement.dataset["theme"] = resolveTheme(readChoice());
  printInLight();
  const target = addressWindow(window);
  const state = makeUrlState(queryBar(target), [...SHELL_KEYS, ...PAGE_KEYS]);
  state.set(
    renameOldKeys((key) => state.get(key)),
    "replace",
  );
  if (target !== window)
    watchAddress(() => {
      state.repair();
      followTab();
    });
  const address = (): string => {
    state.repair();
    return target.location.href;
  };
  render(<Shell client={makeClient(document.baseURI)} state={state} address={address} />, root);
  installTooltips();
}
