import { afterEach, expect, it } from "vitest";
import { render } from "preact";
import { unmount } from "../../base/testing";
import { RichText } from "./rich_text";

const root = document.createElement("div");
afterEach(() => unmount(root));

it("shows links and code, and no other markup", () => {
  render(<RichText html={'`capture --all` or <b>not</b>, see <a href="https://a.example/">`this`</a>; 5` <i>each</i>'} />, root);
  expect(root.innerHTML).toBe(
    '<code>capture --all</code> or not, see <a href="https://a.example/" target="_blank" rel="noreferrer noopener">`this`</a>; 5` each',
  );
});
