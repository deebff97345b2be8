// Explanations of all error codes of the server: what went wrong, why, and what to do about it.
import { formatCount } from "../../base/format";
import { ApiError } from "../../api/error";

export interface Explanation {
  /** "empty": a valid answer without content; "error": a failure. */
  tone: "error" | "empty";
  title: string;
  why: string;
  todo: string[];
  /** A line for a bug report: code, status, address. */
  technical: string | null;
}

interface Subject {
  run?: string | undefined;
  tool?: string | undefined;
  host?: string | null | undefined;
}

function place(error: ApiError): string {
  const { file, offset } = error.details;
  if (typeof file !== "string") return "";
  // not repeated if the message names the byte
  const named = typeof offset === "number" && new RegExp(`\\b${offset}\\b`).test(error.message);
  return typeof offset === "number" && !named ? ` File ${file}, byte ${formatCount(offset)}.` : ` File ${file}.`;
}

/** The text with a capital letter and a full stop, which messages of the decoder lack. */
function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed && `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? "" : "."}`;
}

function corrupt(error: ApiError): Explanation {
  const text = error.message.toLowerCase();
  const size = error.details["size"];
  const empty = error.code === "empty_file" || size === 0 || /\bempty\b|0 bytes|zero bytes/.test(text);
  const cut = /truncat|ends (early|inside|before|within)|unexpected end|past the end/.test(text);
  const technical = `${error.code}, status ${error.status}`;
  if (empty) {
    return {
      tone: "error",
      title: "The profile file is empty",
      why: `${sentence(error.message)}${place(error)}`,
      technical,
      todo: [
        "The profiler was stopped before it wrote anything, or the disk was full: capture again.",
        "If the file is still being copied, wait and reload.",
      ],
    };
  }
  return {
    tone: "error",
    title: cut ? "The profile file is truncated" : "The profile file is damaged",
    why: `${sentence(error.message)}${place(error)}`,
    technical,
    todo: cut
      ? [
          "If the capture or the copy is still running, wait and reload.",
          "Otherwise copy the file again and compare its size, or capture again.",
        ]
      : [
          "Check that the file is an XSpace (*.xplane.pb) or a trace of PyTorch (*.pt.trace.json) and was copied in binary mode.",
          "Other hosts of this run may be intact: choose another host on the left.",
        ],
  };
}

type Writer = (error: ApiError, subject: Subject) => Omit<Explanation, "technical">;

const BY_CODE: Readonly<Record<string, Writer>> = {
  run_not_found: (e, s) => ({
    tone: "error",
    title: `There is no run named ${s.run ?? "that"}`,
    why: e.message,
    todo: ["It may have been deleted or renamed: choose another session on the left.", "Reload after a new capture."],
  }),
  too_large: (e) => ({
    tone: "error",
    title: "The answer would be too large",
    why: e.message,
    todo: ["Choose fewer hosts on the left, or a shorter window."],
  }),
  tool_not_found: (e) => ({ tone: "error", title: "This version has no such tool", why: e.message, todo: ["Choose a tool on the left."] }),
  host_not_found: (e, s) => ({
    tone: "error",
    title: `This run has no host named ${s.host ?? "that"}`,
    why: e.message,
    todo: ["Choose a host on the left."],
  }),
  module_not_found: (e) => ({
    tone: "error",
    title: "This run has no such HLO module",
    why: e.message,
    todo: ["Choose another module on this page."],
  }),
  not_in_report: (e) => ({
    tone: "empty",
    title: "Not in this report",
    why: e.message,
    todo: [
      "Open the profile with TensorBoard or tpu-profile serve, which have everything.",
      "Go back, or choose another tool on the left.",
    ],
  }),
  no_data: (e) => ({ tone: "empty", title: "No data", why: e.message, todo: ["Choose another tool or host on the left."] }),
  bad_request: (e) => ({
    tone: "error",
    title: "The server rejected the request",
    why: e.message,
    todo: ["Open the tool again from the left; the link may be from another version."],
  }),
  forbidden: (e) => ({
    tone: "error",
    title: "The server denied the request",
    why: e.message,
    todo: ["Ask the administrator of the server to allow it."],
  }),
  unreachable: () => ({
    tone: "error",
    title: "The server does not respond",
    why: "There was no response: TensorBoard may have stopped, or the network is down.",
    todo: ["Check that TensorBoard is running, then reload."],
  }),
  internal: (e) => ({
    tone: "error",
    title: "The server failed",
    why: e.message,
    todo: ["Reload. If the error persists, report it with TensorBoard's output in the terminal."],
  }),
};

/** The explanation of any thrown value, for a panel. */
export function explain(error: unknown, subject: Subject = {}): Explanation {
  if (!(error instanceof ApiError)) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      tone: "error",
      title: "This page failed",
      why: message,
      technical: null,
      todo: ["Reload. If the error persists, report it with the steps to reproduce it."],
    };
  }
  if (error.code === "corrupt_profile" || error.code === "empty_file") return corrupt(error);
  const write = BY_CODE[error.code] ?? BY_CODE["internal"];
  const written = write?.(error, subject);
  const technical = error.status ? `${error.code}, status ${error.status}` : error.code;
  return {
    tone: "error",
    title: "The server failed",
    todo: [],
    ...written,
    why: `${sentence(written?.why ?? error.message)}${place(error)}`,
    technical,
  };
}
