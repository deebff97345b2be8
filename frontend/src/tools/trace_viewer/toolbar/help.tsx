// The help dialog: keys and mouse.
import { Dialog } from "../../../widgets/overlay/dialog";
import { TOOLS } from "../../../timeline/input/input";
import { TOOL_LABELS } from "./toolbar";

const GROUPS: readonly { readonly title: string; readonly keys: readonly (readonly [string, string])[] }[] = [
  {
    title: "Move",
    keys: [
      ["W  S", "zoom in, out around the pointer"],
      ["A  D", "pan left, right"],
      ["0  Z", "whole recording"],
      ["F", "frame the selection (or the marked interval)"],
      ["G", "next largest gap of the device"],
      ["Shift+G", "previous largest gap"],
      ["B", "show the binding path of the steps, or hide it"],
      ["N  ]", "next piece of the binding path"],
      ["Shift+N  [", "previous piece"],
      ["Wheel", "scroll the tracks"],
      ["Ctrl+wheel", "zoom at the pointer"],
      ["Shift+wheel", "pan"],
      ["Double click", "frame an event or a merged block"],
    ],
  },
  {
    title: "Select and measure",
    keys: [
      ["← →", "previous, next event of the row"],
      ["↑ ↓", "event above, below"],
      ["M", "mark the interval of the selection"],
      ["Ctrl+click", "add to or remove from the selection"],
      ["Shift (held)", "select with any tool"],
      ["Space (held)", "pan with any tool"],
      ["Drag on the axis", "measure an interval"],
      ["Esc", "close the pane and clear the selection, then the interval"],
    ],
  },
  {
    title: "Find",
    keys: [
      ["/", "go to the search box"],
      ["Enter", "next match"],
      ["Shift+Enter", "previous match"],
      ["?", "this help"],
    ],
  },
];

export function Help({ onClose }: { onClose: () => void }) {
  const tools = TOOLS.map((tool) => [TOOL_LABELS[tool].key, `${TOOL_LABELS[tool].name}: ${TOOL_LABELS[tool].does}`] as const);
  return (
    <Dialog title="Timeline: keys and mouse" onClose={onClose}>
      <div class="tv-help">
        {[{ title: "Tools", keys: tools }, ...GROUPS].map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, does]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <p class="dim">
          A hatched block represents several events that are too short to draw separately, in the colour of the name that fills most of it;
          its tooltip shows how many.
        </p>
      </div>
    </Dialog>
  );
}
