// For the component tests of all rooms: takes a component down completely.
import { render } from "preact";
import { act } from "preact/test-utils";

/**
 * Removes what was rendered into `root` and ends its effects at once.
 * Preact by itself ends them a frame later: timers and polls would then outlive the test, and the window with it.
 */
export function unmount(root: Element): void {
  void act(() => render(null, root));
}
