// Entry point of the pages in one script: of a saved report, over the answers in its file, or in the frame of a notebook's widget.
import { render } from "preact";
import { makeClient } from "../../api/client";
import { STORED_BASE, storedFetch } from "../../api/stored";
import { installTooltips } from "../../widgets/overlay/tooltip";
import { fragmentBar, makeUrlState } from "../address/url_state";
import { PAGE_KEYS, SHELL_KEYS } from "../address/view";
import { Shell } from "../shell/shell";
import { printInLight } from "../theme/print";
import { readChoice, resolveTheme } from "../theme/theme";
import "../theme/styles";
import { embeddedAnswers } from "./embedded";
import { timelineAnswers } from "./timeline_answers";
import { showWidget } from "../widget/frame";

function showReport(root: HTMLElement): void {
  const answers = embeddedAnswers(document);
  const { report } = answers.index;
  const state = makeUrlState(fragmentBar(window), [...SHELL_KEYS, ...PAGE_KEYS]);
  if (state.get("run") === null) state.set({ run: report.run, base: report.base }, "replace");
  const client = makeClient(STORED_BASE, storedFetch(answers, timelineAnswers(answers)));
  render(<Shell client={client} state={state} address={() => window.location.href} report={report} />, root);
  installTooltips();
}

const root = document.getElementById("app");
if (root) {
  document.documentElement.dataset["theme"] = resolveTheme(readChoice());
  printInLight();
  if (window.profileNotebook) showWidget(root, window.profileNotebook);
  else showReport(root);
}
