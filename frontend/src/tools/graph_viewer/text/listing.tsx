// The text of the module; only visible lines are rendered, and names link to their definitions.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isTyping, keyName } from "../../../base/keys";
import type { HloText } from "./hlo_text";
import { pieces } from "./hlo_text";

const LINE_PX = 18;
const OVERSCAN = 12;

interface Props {
  hlo: HloText;
  /** Line of the selected definition, -1 for none. */
  chosen: number;
  /** Line to scroll to; a new object scrolls again. */
  scrollTarget: { line: number } | null;
  /** Lines that match the search, and the current one. */
  found: ReadonlySet<number>;
  current: number;
  onGo: (name: string) => void;
}

export function Listing({ hlo, chosen, scrollTarget, found, current, onGo }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const count = hlo.lines.length;
  const measure = (): void => {
    const element = box.current;
    if (element) setSight({ top: element.scrollTop, height: element.clientHeight || 600 });
  };
  useEffect(() => {
    measure();
    if (!box.current || typeof ResizeObserver === "undefined") return undefined;
    const sizes = new ResizeObserver(measure);
    sizes.observe(box.current);
    return () => sizes.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !scrollTarget || scrollTarget.line < 0) return;
    const top = scrollTarget.line * LINE_PX;
    if (top < element.scrollTop + LINE_PX || top > element.scrollTop + element.clientHeight - 2 * LINE_PX)
      element.scrollTop = Math.max(0, top - element.clientHeight / 3);
    element.scrollLeft = 0;
    measure();
  }, [scrollTarget, hlo]);
  const first = Math.max(0, Math.floor(sight.top / LINE_PX) - OVERSCAN);
  const end = Math.min(count, Math.ceil((sight.top + sight.height) / LINE_PX) + OVERSCAN);
  const digits = String(count).length;
  // There are too many names for tab stops, therefore the arrow keys move between them.
  const walk = (step: number): void => {
    const names = [...(box.current?.querySelectorAll("a") ?? [])];
    const focusedIndex = names.findIndex((name) => name === document.activeElement);
    const top = box.current?.getBoundingClientRect().top ?? 0;
    const next = focusedIndex < 0 ? names.find((name) => name.getBoundingClientRect().top >= top) : names[focusedIndex + step];
    next?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (isTyping(event.target)) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[keyName(event)];
    if (step !== undefined) {
      walk(step);
      event.preventDefault();
      return;
    }
    if (event.target !== box.current) return;
    const pages: Record<string, number> = {
      ArrowDown: LINE_PX,
      ArrowUp: -LINE_PX,
      PageDown: sight.height - LINE_PX,
      PageUp: LINE_PX - sight.height,
      Home: -count * LINE_PX,
      End: count * LINE_PX,
    };
    const by = pages[keyName(event)];
    if (by === undefined || !box.current) return;
    box.current.scrollTop += by;
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      class="hlo-text"
      tabIndex={0}
      role="region"
      aria-label={`HLO text, ${count} lines. The left and right arrow keys move between names, Enter follows one.`}
      onScroll={measure}
      onKeyDown={onKey}
    >
      <div class="hlo-lines" style={{ height: `${count * LINE_PX}px` }}>
        <div class="hlo-window" style={{ top: `${first * LINE_PX}px` }}>
          {Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i).map((line) => (
            <div
              key={line}
              class={["hlo-line", line === chosen ? "chosen" : "", found.has(line) ? "found" : "", line === current ? "current" : ""]
                .filter(Boolean)
                .join(" ")}
              data-line={line + 1}
            >
              <span class="hlo-number" style={{ width: `${digits + 2}ch` }} aria-hidden="true">
                {line + 1}
              </span>
              <code>
                {pieces(hlo, line).map(({ text, kind, target }, i) =>
                  target === null ? (
                    text
                  ) : (
                    <a
                      key={i}
                      tabIndex={-1}
                      class={kind === "definition" ? "hlo-name" : "hlo-link"}
                      href="#"
                      onClick={(event) => {
                        event.preventDefault();
                        onGo(target);
                      }}
                    >
                      {text}
                    </a>
                  ),
                )}
              </code>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
