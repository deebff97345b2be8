import { afterEach, expect, it } from "vitest";
import { render } from "preact";
import { unmount } from "../../base/testing";
import { RichText } from "./rich_text";

const root = document.createElement("div");
afterEach(() => unmount(root));

const shown = (text: string, links = true): string => {
  render(<RichText text={text} links={links} />, root);
  return root.innerHTML;
};

it("shows links and code, and no other markup", () => {
  expect(shown("`capture --all` or <b>not</b>, see [the guide](https://x.org/a?b=1&c=2); 5` each")).toBe(
    "<code>capture --all</code> or &lt;b&gt;not&lt;/b&gt;, see " +
      '<a href="https://x.org/a?b=1&amp;c=2" target="_blank" rel="noreferrer noopener">the guide</a>; 5` each',
  );
});

it("makes no links of names", () => {
  expect(shown("run `doctor` on [here](https://x.org)", false)).toBe("run <code>doctor</code> on [here](https://x.org)");
});

it("makes no links of other schemes", () => {
  expect(shown("[x](javascript:alert(1)) a < b")).toBe("[x](javascript:alert(1)) a &lt; b");
});
