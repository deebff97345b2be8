// A button with a floating box beside it, within the window, which closes on Esc, on a click outside and when it loses the focus.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { placeBeside, viewSize } from "./place";
import "./popover.css";

const MOST_PX = 480;

interface Props {
  /** Content of the button. */
  label: ComponentChildren;
  title?: string;
  buttonClass?: string;
  boxClass?: string;
  popup: "listbox" | "menu" | "dialog";
  disabled?: boolean;
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, title, buttonClass = "button", boxClass = "", popup, disabled = false, children }: Props) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!open) return undefined;
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, [open]);

  useLayoutEffect(() => {
    if (!open) return undefined;
    const place = (): void => {
      if (!button.current || !box.current) return;
      const { style, offsetWidth, scrollHeight } = box.current;
      const at = placeBeside(button.current.getBoundingClientRect(), { width: offsetWidth, height: scrollHeight }, viewSize());
      style.left = `${at.left}px`;
      style.top = at.top === null ? "auto" : `${at.top}px`;
      style.bottom = at.bottom === null ? "auto" : `${at.bottom}px`;
      style.maxHeight = `${Math.min(MOST_PX, at.room)}px`;
    };
    place();
    const sizes = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(place);
    if (box.current) sizes?.observe(box.current);
    // The box has a place in the window, its button one in the page.
    window.addEventListener("scroll", place, true);
    window.addEventListener("resize", place);
    return () => {
      sizes?.disconnect();
      window.removeEventListener("scroll", place, true);
      window.removeEventListener("resize", place);
    };
  }, [open]);

  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };

  return (
    <div
      class="popover"
      ref={root}
      onKeyDown={(event) => {
        if (open && event.key === "Escape") {
          event.stopPropagation();
          close();
        }
      }}
    >
      <button
        ref={button}
        type="button"
        class={buttonClass}
        data-tip={title}
        disabled={disabled}
        aria-haspopup={popup}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open ? (
        <div ref={box} class={`popover-box ${boxClass}`}>
          {children(close)}
        </div>
      ) : null}
    </div>
  );
}
