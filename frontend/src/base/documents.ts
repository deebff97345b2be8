// What pages receive, made of the dataclasses of tpu_profile_plugin/tools (tests/unit/tools/test_documents.py).

import type { TableData } from "./table/table_data";

/** Collectives, steps, devices, clocks and launches of the chosen hosts; times are whole picoseconds. */
export interface Communication {
  /** One row per collective, most exposed time without waits first, as findings rank them. */
  readonly ops: TableData;
  /** Null without steps. */
  readonly cost: CommunicationCost | null;
  readonly steps: readonly CommunicationStep[];
  /** One row per device. */
  readonly ranks: TableData;
  readonly stragglers: readonly LateDevice[];
  /** Hosts of which all devices are late. */
  readonly late_hosts: readonly string[];
  /** Longest first. */
  readonly first_waits: readonly WaitForStart[];
  /** Hosts against the first one, devices against their host. */
  readonly clocks: TableData;
  /** What to add to the times of each host so that its clock agrees with that of the first one. */
  readonly host_offsets_ps: Readonly<Record<string, number>>;
  /** Runs of collectives that ended before the last rank began. */
  readonly early_ends: number;
  /** One row per GPU. */
  readonly launches: TableData;
  /** Sentences. */
  readonly notes: readonly string[];
  /** Hosts that could not be read: `host`, `file`, `code`, `message`. */
  readonly left_out: readonly Readonly<Record<string, unknown>>[];
}

/** The price of communication. */
export interface CommunicationCost {
  /** Of the step, or of the time from step to step, that communication takes and no computation hides, waits for late devices included; 0 to 1. */
  readonly share: number;
  /** What it is a share of. */
  readonly base: string;
}

/** Communication in a step, summed over devices. */
export interface CommunicationStep {
  readonly number: number;
  readonly name: string;
  /** On the time axis of the host of the first device. */
  readonly begin_ps: number;
  /** Time with a collective under way. */
  readonly communication_ps: number;
  /** The part of it in which the device computes nothing. */
  readonly exposed_ps: number;
  /** The rest; null without communication. */
  readonly hidden_percent: number | null;
}

/** A device that the others wait for. */
export interface LateDevice {
  readonly device: string;
  readonly host: string;
  /** Its share of all waits. */
  readonly caused_percent: number;
  /** Its work over the median of all devices; null if that is 0. */
  readonly work_ratio: number | null;
  /** It has clearly more work than the others. */
  readonly more_work: boolean;
  /** How far its work is from the median; null without clearly more work. */
  readonly modified_z: number | null;
  /** The others' time in collectives over its own; null as above. */
  readonly waits_ratio: number | null;
}

/** A run of a collective that waited until other devices had started; no other number includes this wait. */
export interface WaitForStart {
  readonly device: string;
  readonly host: string;
  readonly op: string;
  readonly kind: string;
  readonly begin_ps: number;
  readonly end_ps: number;
  readonly wait_ps: number;
}

/** What `/page` answers, by the id of the tool. */
export interface Documents {
  readonly communication: Communication;
}
