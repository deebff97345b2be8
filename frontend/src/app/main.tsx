// Start of the page: one client, one address bar, one shell.
import { render } from "preact";
import { makeClient } from "../api/client";
import { installTooltips } from "../widgets/tooltip";
import { Shell } from "./shell";
import { readChoice, resolveTheme } from "./theme";
import { addressWindow, makeUrlState } from "./url_state";
import "./tokens.css";
import "./base.css";
import "./shell.css";
import "./pages.css";

const root = document.getElementById("app");
if (root) {
  // Before the first paint, so that a dark page never flashes white.
  document.documentElement.dataset["theme"] = resolveTheme(readChoice());
  const target = addressWindow(window);
  render(<Shell client={makeClient(document.baseURI)} state={makeUrlState(target)} address={() => target.location.href} />, root);
  installTooltips();
}
