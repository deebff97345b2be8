import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Kernel } from "./kernel";
import type { Channel, Condition } from "./kernel";

type Hear = (content: unknown, buffers: readonly DataView[]) => void;

let hear: Hear;
let sent: Record<string, unknown>[];
let said: Condition[];
let dead: boolean;
let kernel: Kernel;
const channel: Channel = {
  send(content) {
    if (dead) throw new Error("disposed");
    sent.push(content as Record<string, unknown>);
  },
  on: (_, heard) => (hear = heard),
  off: (_, heard) => (hear = hear === heard ? () => undefined : hear),
};
const view = (...bytes: number[]): DataView => new DataView(new Uint8Array([9, ...bytes]).buffer, 1);
const ask = (signal: AbortSignal | null = null) => kernel.ask({ address: "page?tag=x", method: "GET", body: "", signal });

beforeEach(() => {
  vi.useFakeTimers();
  [sent, said, dead] = [[], [], false];
  kernel = new Kernel(channel, "v", (condition) => said.push(condition));
});

afterEach(() => vi.useRealTimers());

describe("questions to the kernel", () => {
  it("are answered in parts, each view its own", async () => {
    const answer = ask();
    expect(sent).toEqual([
      { op: "open", id: "v" },
      { op: "ask", id: "v.1", address: "page?tag=x", method: "GET", body: "" },
    ]);
    hear({ op: "answer", id: "other.1", last: true, status: 500, headers: [] }, [view(7)]);
    hear({ op: "taken", id: "v.1" }, []);
    hear({ op: "answer", id: "v.1", last: false, status: 200, headers: [["A", "b"]] }, [view(1, 2)]);
    hear({ op: "answer", id: "v.1", last: true }, [view(3)]);
    await expect(answer).resolves.toEqual({ status: 200, headers: [["A", "b"]], body: new Uint8Array([1, 2, 3]) });
  });

  it("are cancelled by their signal", async () => {
    const abort = new AbortController();
    const answer = ask(abort.signal);
    abort.abort(new Error("moved on"));
    await expect(answer).rejects.toThrow("moved on");
    expect(sent.at(-1)).toEqual({ op: "cancel", id: "v.1" });
    hear({ op: "answer", id: "v.1", last: true, status: 200, headers: [] }, []);
    await expect(ask(abort.signal)).rejects.toThrow("moved on");
    expect(sent.length).toBe(3);
  });

  it("say when the kernel does not take them, and when it does", async () => {
    const answer = ask();
    vi.advanceTimersByTime(1900);
    expect(said).toEqual([]);
    vi.advanceTimersByTime(5000);
    expect(said).toEqual(["slow"]);
    hear({ op: "taken", id: "v.1" }, []);
    vi.advanceTimersByTime(60_000); // a long computation is not the kernel's absence
    expect(said).toEqual(["slow", "well"]);
    hear({ op: "answer", id: "v.1", last: true, status: 204, headers: [] }, []);
    expect((await answer).body.length).toBe(0);
  });

  it("fail when the kernel is gone", async () => {
    const answer = ask();
    kernel.lose();
    await expect(answer).rejects.toThrow("gone");
    dead = true;
    await expect(ask()).rejects.toThrow("gone");
    expect(said).toEqual(["lost"]);
  });

  it("end with the view", () => {
    kernel.close();
    expect(sent.at(-1)).toEqual({ op: "close", id: "v" });
  });
});
