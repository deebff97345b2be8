// Questions to the kernel as messages of a widget: answers come in parts, in order.
import type { Answer, Question } from "./notebook";

/** What this needs of the model of a widget (anywidget). */
export interface Channel {
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(name: "msg:custom", heard: (content: unknown, buffers: readonly DataView[]) => void): void;
  off(name: "msg:custom", heard: (content: unknown, buffers: readonly DataView[]) => void): void;
}

/** A message from the kernel: a question has arrived, or a part of its answer. */
type Heard =
  | { readonly op: "taken"; readonly id: string }
  | { readonly op: "answer"; readonly id: string; readonly last: boolean; readonly status?: number; readonly headers?: Answer["headers"] };

interface Pending {
  readonly parts: Uint8Array[];
  readonly settle: (answer: Answer) => void;
  readonly fail: (reason: Error) => void;
  taken: boolean;
  status: number;
  headers: Answer["headers"];
}

/** How the kernel is: `slow` has not taken a question for a while, because it runs a cell or is gone. */
export type Condition = "well" | "slow" | "lost";

const SLOW_MS = 2000;

function together(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1 && parts[0]) return parts[0];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

export class Kernel {
  private readonly pending = new Map<string, Pending>();
  private asked = 0;
  private condition: Condition = "well";
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `view` names the view among those of the model, which all hear every message. */
  constructor(
    private readonly channel: Channel,
    private readonly view: string,
    private readonly told: (condition: Condition) => void,
  ) {
    channel.on("msg:custom", this.heard);
    this.send({ op: "open", id: view });
  }

  ask({ address, method, body, signal }: Question): Promise<Answer> {
    const id = `${this.view}.${++this.asked}`;
    return new Promise((settle, fail) => {
      if (signal?.aborted) return fail(signal.reason as Error);
      this.pending.set(id, { parts: [], settle, fail, taken: false, status: 0, headers: [] });
      signal?.addEventListener("abort", () => {
        if (!this.pending.delete(id)) return;
        this.send({ op: "cancel", id });
        fail(signal.reason as Error);
      });
      this.send({ op: "ask", id, address, method, body });
      this.timer ??= setTimeout(() => this.look(), SLOW_MS);
    });
  }

  /** The kernel was restarted or has ended: what was asked is not answered. */
  lose(): void {
    this.tell("lost");
    for (const { fail } of this.pending.values()) fail(new Error("the kernel is gone"));
    this.pending.clear();
  }

  close(): void {
    clearTimeout(this.timer);
    this.send({ op: "close", id: this.view });
    this.channel.off("msg:custom", this.heard);
  }

  private send(content: unknown): void {
    try {
      this.channel.send(content);
    } catch {
      this.lose();
    }
  }

  private readonly heard = (content: unknown, buffers: readonly DataView[]): void => {
    const message = content as Heard;
    const pending = this.pending.get(message.id);
    if (!pending) return;
    this.tell("well");
    pending.taken = true;
    if (message.op !== "answer") return;
    pending.status = message.status ?? pending.status;
    pending.headers = message.headers ?? pending.headers;
    for (const part of buffers) pending.parts.push(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    if (!message.last) return;
    this.pending.delete(message.id);
    pending.settle({ status: pending.status, headers: pending.headers, body: together(pending.parts) });
  };

  private look(): void {
    this.timer = undefined;
    if ([...this.pending.values()].every(({ taken }) => taken)) return;
    if (this.condition === "well") this.tell("slow");
    this.timer = setTimeout(() => this.look(), SLOW_MS);
  }

  private tell(condition: Condition): void {
    if (condition === this.condition) return;
    this.condition = condition;
    this.told(condition);
  }
}
