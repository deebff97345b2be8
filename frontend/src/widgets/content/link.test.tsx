import { render } from "preact";
import { afterEach, expect, it, vi } from "vitest";
import { unmount } from "../../base/testing";
import { AddressContext, Link } from "./link";

const root = document.createElement("div");
document.body.append(root);
afterEach(() => unmount(root));

function open() {
  const go = vi.fn();
  const href = (patch: object) => `/?${JSON.stringify(patch)}`;
  render(
    <AddressContext.Provider value={{ href, go }}>
      <Link to={{ tool: "compare" }}>Compare</Link>
      <Link to={{ finding: "f" }} replace class="mark">
        Show
      </Link>
    </AddressContext.Provider>,
    root,
  );
  return { go, links: [...root.querySelectorAll("a")] };
}

const click = (link: HTMLElement | undefined, patch: MouseEventInit = {}): boolean =>
  link?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...patch })) ?? true;

it("has the address of the view, and opens it in place on a plain click", () => {
  const { go, links } = open();
  expect(links.map((one) => one.getAttribute("href"))).toEqual(['/?{"tool":"compare"}', '/?{"finding":"f"}']);
  expect(links.map((one) => one.className)).toEqual(["link", "mark"]);
  expect(click(links[0])).toBe(false); // the browser does not follow
  expect(go).toHaveBeenLastCalledWith({ tool: "compare" }, "push");
  click(links[1]);
  expect(go).toHaveBeenLastCalledWith({ finding: "f" }, "replace");
});

it.each([{ ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { altKey: true }, { button: 1 }])("leaves %o to the browser", (key) => {
  const { go, links } = open();
  links.forEach((one) => one.addEventListener("click", (event) => event.preventDefault(), { once: true }));
  click(links[0], key);
  expect(go).not.toHaveBeenCalled();
});
