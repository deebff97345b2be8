// The mouse tools as a floating box, movable by its dotted edge; at first over the minimap, where it covers no track.
import { useRef, useState } from "preact/hooks";
import type { Session } from "../session/session";
import { ToolButtons } from "./toolbar";

export function FloatingTools({ session }: { session: Session }) {
  const [at, setAt] = useState({ right: 28, top: 3 });
  const box = useRef<HTMLDivElement>(null);
  const drag = (down: PointerEvent): void => {
    const handle = down.currentTarget as HTMLElement;
    const start = at;
    handle.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => {
      const parent = box.current?.parentElement;
      if (!box.current || !parent) return;
      const { offsetWidth: width, offsetHeight: height } = box.current;
      const right = start.right - (event.clientX - down.clientX);
      const top = start.top + event.clientY - down.clientY;
      setAt({
        right: Math.max(0, Math.min(right, parent.clientWidth - width)),
        top: Math.max(0, Math.min(top, parent.clientHeight - height)),
      });
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
  };
  return (
    <div class="tv-floating" ref={box} style={{ right: `${at.right}px`, top: `${at.top}px` }}>
      <div class="tv-floating-edge" title="Drag to move" onPointerDown={drag} />
      <ToolButtons session={session} floating />
    </div>
  );
}
