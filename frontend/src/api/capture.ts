// The capture routes (start, status, cancel, probe) and their payload types.
import type { Client, RequestOptions } from "./client";

interface CaptureFailure {
  code: string;
  message: string;
  todo: string;
  grpc_code: string;
  details: string;
}

type WorkerStateName = "waiting" | "connecting" | "recording" | "receiving" | "done" | "failed" | "cancelled";

export interface CaptureWorker {
  address: string;
  host: string;
  state: WorkerStateName;
  attempt: number;
  seconds: number;
  bytes: number;
  events: number | null;
  file: string | null;
  stored_by_worker: boolean;
  error: CaptureFailure | null;
  warnings: string[];
}

export interface CaptureJob {
  job: string;
  /** A snapshot stores what continuous profiling has recorded. */
  kind: "capture" | "snapshot";
  state: "running" | "done" | "failed" | "cancelled";
  phase: "connecting" | "delay" | "recording" | "receiving" | "retry" | "ended";
  run: string | null;
  session: string;
  created_ms: number;
  seconds: number;
  duration_ms: number;
  delay_ms: number;
  attempts: number;
  starts_in_ms: number;
  recording_left_ms: number;
  bytes: number;
  message: string;
  warnings: string[];
  workers: CaptureWorker[];
}

/** Steps of a probe: passed, failed, or null for those that were not reached. */
export type ProbeStep = "name" | "allowed" | "port" | "grpc" | "profiler";

export interface ProbeResult {
  address: string;
  ok: boolean;
  steps: Record<ProbeStep, boolean | null>;
  milliseconds: number;
  error: CaptureFailure | null;
}

/** The request of the dialog; `advanced` has further options by name. */
export interface CaptureRequest {
  service_addr: string;
  is_tpu_name: boolean;
  duration_ms: number;
  host_tracer_level: number;
  device_tracer_level: number;
  python_tracer_level: number;
  retries: number;
  delay_ms: number | null;
  worker_list: string;
  advanced: Record<string, string>;
}

/** Result of starting or stopping continuous profiling, per address. */
export interface SwitchResult {
  address: string;
  ok: boolean;
  error: CaptureFailure | null;
}

export type ContinuousRequest = Pick<CaptureRequest, "service_addr" | "is_tpu_name" | "worker_list" | "advanced">;

export interface CaptureApi {
  start: (request: CaptureRequest) => Promise<CaptureJob>;
  status: (job: string, options?: RequestOptions) => Promise<CaptureJob>;
  /** The captures that the server keeps, newest first. */
  jobs: (options?: RequestOptions) => Promise<CaptureJob[]>;
  /** Ends a capture; `keep` stores what has been recorded so far. */
  cancel: (job: string, keep: boolean) => Promise<CaptureJob>;
  probe: (addresses: string, isTpuName: boolean) => Promise<ProbeResult[]>;
  /** Starts or stops continuous profiling. */
  setContinuous: (action: "start" | "stop", request: ContinuousRequest) => Promise<SwitchResult[]>;
  /** Stores what was recorded since the start or the last snapshot. */
  snapshot: (request: ContinuousRequest) => Promise<CaptureJob>;
}

/** Calls on top of a client. */
export function makeCaptureApi(client: Client): CaptureApi {
  const post = <T>(route: string, body: unknown): Promise<T> => client.post<T>(route, body);
  return {
    start: (request) => post("capture_profile", request),
    status: (job, options) => client.json("capture_status", { job }, options),
    jobs: (options) => client.json("capture_jobs", {}, options),
    cancel: (job, keep) => post("capture_cancel", { job, keep }),
    probe: (service_addr, is_tpu_name) => post("capture_probe", { service_addr, is_tpu_name }),
    setContinuous: (action, request) => post("capture_continuous", { ...request, action }),
    snapshot: (request) => post("capture_continuous", { ...request, action: "snapshot" }),
  };
}
