// The fields of the capture dialog: defaults, validation and the request built from them.
import type { CaptureRequest, ContinuousRequest } from "../../api/capture";

export interface CaptureForm {
  service: string;
  kind: "ip" | "tpu";
  duration: string;
  hostLevel: string;
  deviceLevel: string;
  pythonLevel: string;
  workers: string;
  retries: string;
  /** In ms; empty means none for one worker, 3000 for several. */
  delay: string;
  extra: { key: string; value: string }[];
}

type FormField = "service" | "duration" | "workers" | "retries" | "delay" | "extra";
export type FormErrors = Partial<Record<FormField, string>>;

export const DEFAULTS: Readonly<CaptureForm> = {
  service: "",
  kind: "ip",
  duration: "1000",
  hostLevel: "2",
  deviceLevel: "1",
  pythonLevel: "0",
  workers: "",
  retries: "3",
  delay: "",
  extra: [],
};

/** Options that a link may set, with the field of each; never an address. */
const PRESETS: Readonly<Record<string, { field: "duration" | "hostLevel" | "deviceLevel" | "pythonLevel"; valid: RegExp }>> = {
  duration_ms: { field: "duration", valid: /^\d{1,7}$/ },
  host_tracer_level: { field: "hostLevel", valid: /^[0-3]$/ },
  device_tracer_level: { field: "deviceLevel", valid: /^[01]$/ },
  python_tracer_level: { field: "pythonLevel", valid: /^[01]$/ },
};

/** The fields set by the key `capture` of the address, such as "python_tracer_level=1"; others are ignored. */
export function presetsOf(query: string): Partial<CaptureForm> {
  const found: Partial<CaptureForm> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const preset = PRESETS[name];
    if (preset?.valid.test(value)) found[preset.field] = value;
  }
  return found;
}

const RECENT = "profile-capture-recent";
const KEPT = 8;
const LONGEST_MS = 3_600_000;
const NAME = /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)$/;
const TPU_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const RESOURCE = /^projects\/[a-z0-9:.-]+\/locations\/[a-z0-9-]+\/nodes\/[a-z0-9-]+$/;

/** The parts of a comma list, trimmed, without empty ones. */
function parts(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}

/** The error of one address, null if valid. The server validates again. */
export function addressError(text: string): string | null {
  const plain = text.replace(/^grpc:\/\//i, "").replace(/\/$/, "");
  if (plain.includes("://")) return `${text}: the only scheme allowed before the host is grpc://.`;
  const bracket = /^\[([0-9a-fA-F:.%]+)\](?::(.*))?$/.exec(plain);
  if (!bracket && plain.split(":").length > 2) return `${text}: an IPv6 address must be in brackets, such as [::1]:9012.`;
  const [host = "", port] = bracket ? [bracket[1] ?? "", bracket[2]] : plain.split(":");
  if (!host || (!bracket && !host.split(".").every((part) => NAME.test(part)))) return `${text}: this is not a host name or an IP address.`;
  if (!port) return `${text}: the port is missing, write ${host}:9012 for instance.`;
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535) return `${text}: a port is a number from 1 to 65535.`;
  return null;
}

function addressesError(text: string): string | undefined {
  for (const part of parts(text)) {
    const error = addressError(part);
    if (error !== null) return error;
  }
  return undefined;
}

function numberError(text: string, low: number, high: number, what: string): string | undefined {
  const value = Number(text);
  return /^\d+$/.test(text.trim()) && value >= low && value <= high ? undefined : `${what} must be a whole number from ${low} to ${high}.`;
}

/** Errors by field. An empty address is not an error, but `ready` is false for it. */
export function check(form: CaptureForm): FormErrors {
  const errors: FormErrors = {};
  const put = (field: FormField, error: string | undefined): void => {
    if (error !== undefined) errors[field] = error;
  };
  const service = form.service.trim();
  if (service) {
    const tpu = parts(service).every((name) => TPU_NAME.test(name) || RESOURCE.test(name));
    put(
      "service",
      form.kind === "ip"
        ? addressesError(service)
        : tpu
          ? undefined
          : "A TPU name consists of lower-case letters, digits and dashes; for an address choose IP address.",
    );
  }
  put("duration", numberError(form.duration, 1, LONGEST_MS, "The duration"));
  put("retries", numberError(form.retries, 0, 20, "The number of retries"));
  if (form.delay.trim()) put("delay", numberError(form.delay, 0, LONGEST_MS, "The delay"));
  if (form.kind === "tpu")
    put(
      "workers",
      parts(form.workers)
        .map((part) => addressError(/:\d+$/.test(part) ? part : `${part}:8466`))
        .find((e) => e !== null) ?? undefined,
    );
  if (form.extra.some(({ key, value }) => !key.trim() && value.trim())) put("extra", "An option needs a name.");
  return errors;
}

/** Whether the capture can start. */
export function ready(form: CaptureForm): boolean {
  return parts(form.service).length > 0 && Object.keys(check(form)).length === 0;
}

/** Whether valid addresses are entered, whatever the other fields hold. */
export function addressed(form: CaptureForm): boolean {
  const { service, workers } = check(form);
  return parts(form.service).length > 0 && service === undefined && workers === undefined;
}

/** Number of workers named; a TPU name may refer to several. */
export function workerCount(form: CaptureForm): number {
  return form.kind === "ip" ? parts(form.service).length : Math.max(1, parts(form.service).length, parts(form.workers).length);
}

export function requestOf(form: CaptureForm): CaptureRequest {
  return {
    service_addr: parts(form.service).join(","),
    is_tpu_name: form.kind === "tpu",
    duration_ms: Number(form.duration),
    host_tracer_level: Number(form.hostLevel),
    device_tracer_level: Number(form.deviceLevel),
    python_tracer_level: Number(form.pythonLevel),
    retries: Number(form.retries),
    delay_ms: form.delay.trim() ? Number(form.delay) : null,
    worker_list: form.kind === "tpu" ? parts(form.workers).join(",") : "",
    advanced: Object.fromEntries(form.extra.filter(({ key }) => key.trim()).map(({ key, value }) => [key.trim(), value.trim()])),
  };
}

/** What applies to continuous profiling: where, and the extra options. */
export function continuousRequestOf(form: CaptureForm): ContinuousRequest {
  const { service_addr, is_tpu_name, worker_list, advanced } = requestOf(form);
  return { service_addr, is_tpu_name, worker_list, advanced };
}

/** Recently used addresses, newest first. */
export function recentAddresses(own: Window = window): string[] {
  try {
    const value: unknown = JSON.parse(own.localStorage.getItem(RECENT) ?? "[]");
    return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string").slice(0, KEPT) : [];
  } catch {
    return []; // Storage may be disabled or hold another value.
  }
}

export function rememberAddress(service: string, own: Window = window): void {
  const addresses = [service, ...recentAddresses(own).filter((known) => known !== service)].slice(0, KEPT);
  try {
    own.localStorage.setItem(RECENT, JSON.stringify(addresses));
  } catch {
    // Without storage the addresses are not remembered.
  }
}
