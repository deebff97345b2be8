// Links to views of the page: real addresses for new tabs, previews and copies; a plain click stays in the page.
import { createContext } from "preact";
import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";

/** Keys of the address to change; null removes one. */
export type Patch = Readonly<Record<string, string | null>>;

export interface Address {
  /** The full address of the current view with the keys changed. */
  href: (patch: Patch) => string;
  /** Changes the keys in place; `push` adds an entry to the history. */
  go: (patch: Patch, mode: "push" | "replace") => void;
}

/** The address of the tab; provided by the shell. */
export const AddressContext = createContext<Address>({ href: () => "", go: () => undefined });

/** Whether a click asks for this tab: the first button, without a key that opens another tab or saves. */
function staysHere(event: Pick<MouseEvent, "button" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">): boolean {
  return event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
}

interface Props {
  to: Patch;
  class?: string;
  children: ComponentChildren;
  /** Replaces the entry of the history: for a mark on the same page. */
  replace?: boolean;
  /** For actions beside the change of the address, such as closing a menu. */
  onFollow?: () => void;
  role?: "menuitem";
  tabIndex?: number;
  "aria-label"?: string;
  "aria-current"?: "page" | "true" | undefined;
  [data: `data-${string}`]: string | number | boolean | undefined;
}

/** A link to the current view with other keys in the address; `class` is "link" unless given. */
export function Link({ to, replace = false, onFollow, class: className = "link", ...rest }: Props) {
  const { href, go } = useContext(AddressContext);
  return (
    <a
      {...rest}
      class={className}
      href={href(to)}
      onClick={(event) => {
        if (!staysHere(event)) return;
        event.preventDefault();
        go(to, replace ? "replace" : "push");
        onFollow?.();
      }}
    />
  );
}
