// Decodes the binary container of the trace tool: a JSON header followed by 8-aligned columns.

/** A column, as a view of the response buffer. */
type Column = Float64Array | Uint32Array | Uint16Array | Uint8Array | Int32Array;

/** Header and columns of one response, not interpreted. */
export interface Container {
  readonly header: Readonly<Record<string, unknown>>;
  readonly arrays: ReadonlyMap<string, Column>;
}

/** A response violates its format; the message names the field. */
export class PayloadError extends Error {
  override readonly name = "PayloadError";
}

const MAGIC = 0x31435054; // "TPC1", little endian
const HEADER_BEGIN = 8;
const ALIGNMENT = 8;

const MAKERS: Readonly<Record<string, (b: ArrayBuffer, o: number, n: number) => Column>> = {
  f64: (b, o, n) => new Float64Array(b, o, n),
  u32: (b, o, n) => new Uint32Array(b, o, n),
  u16: (b, o, n) => new Uint16Array(b, o, n),
  u8: (b, o, n) => new Uint8Array(b, o, n),
  i32: (b, o, n) => new Int32Array(b, o, n),
};
const BYTES: Readonly<Record<string, number>> = { f64: 8, u32: 4, u16: 2, u8: 1, i32: 4 };

/** Splits a response into header and columns (views, not copies). Throws PayloadError. */
export function decodeContainer(buffer: ArrayBuffer): Container {
  if (buffer.byteLength < HEADER_BEGIN) {
    throw new PayloadError(`response ends after ${buffer.byteLength} bytes, before its header`);
  }
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) {
    throw new PayloadError("response does not begin with TPC1");
  }
  const length = view.getUint32(4, true);
  const body = HEADER_BEGIN + length;
  if (body > buffer.byteLength) {
    throw new PayloadError(`header of ${length} bytes reaches past the end (${buffer.byteLength})`);
  }
  if (body % ALIGNMENT !== 0) {
    throw new PayloadError(`body begins at byte ${body}, which is not 8-aligned`);
  }
  const header = parseHeader(new Uint8Array(buffer, HEADER_BEGIN, length));
  return { header, arrays: readArrays(buffer, body, record(header.arrays, "arrays")) };
}

function parseHeader(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8").decode(bytes));
  } catch (error) {
    throw new PayloadError(`header is not JSON: ${String(error)}`);
  }
  return record(value, "header");
}

function readArrays(buffer: ArrayBuffer, body: number, declared: Record<string, unknown>): Map<string, Column> {
  const arrays = new Map<string, Column>();
  for (const [name, value] of Object.entries(declared)) {
    const entry = record(value, `array ${name}`);
    const type = String(entry.type);
    const make = MAKERS[type];
    const size = BYTES[type];
    if (make === undefined || size === undefined) {
      continue; // a later version may add columns of other types
    }
    const offset = body + count(entry.offset, `offset of ${name}`);
    const length = count(entry.length, `length of ${name}`);
    if (offset + length * size > buffer.byteLength) {
      throw new PayloadError(`array ${name} ends at byte ${offset + length * size}, the response at ${buffer.byteLength}`);
    }
    if (offset % ALIGNMENT !== 0) {
      throw new PayloadError(`array ${name} begins at byte ${offset}, which is not 8-aligned`);
    }
    arrays.set(name, make(buffer, offset, length));
  }
  return arrays;
}

/** Joins a header and columns to a response that `decodeContainer` splits. */
export function encodeContainer(
  header: Readonly<Record<string, unknown>>,
  columns: Readonly<Record<string, Column>>,
): Uint8Array<ArrayBuffer> {
  const aligned = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT;
  const arrays: Record<string, { type: string; offset: number; length: number }> = {};
  let size = 0;
  for (const [name, values] of Object.entries(columns)) {
    arrays[name] = { type: typeOf(values), offset: size, length: values.length };
    size = aligned(size + values.byteLength);
  }
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays }));
  const body = HEADER_BEGIN + aligned(text.length);
  const bytes = new Uint8Array(body + size).fill(0x20, 0, body);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, body - HEADER_BEGIN, true);
  bytes.set(text, HEADER_BEGIN);
  for (const [name, values] of Object.entries(columns)) {
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), body + arrays[name]!.offset);
  }
  return bytes;
}

function typeOf(values: Column): string {
  const float = values instanceof Float64Array;
  return `${float ? "f" : values instanceof Int32Array ? "i" : "u"}${8 * values.BYTES_PER_ELEMENT}`;
}

/** The value as an object, or a PayloadError naming it. */
export function record(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new PayloadError(`${what} is not an object`);
  }
  return value as Record<string, unknown>;
}

/** The value as a list, or a PayloadError naming it. */
export function list(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) {
    throw new PayloadError(`${what} is not a list`);
  }
  return value as unknown[];
}

/** The value as a finite number, or a PayloadError naming it. */
export function number(value: unknown, what: string): number {
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new PayloadError(`${what} is not a number`);
  }
  return value;
}

/** The value as an integer >= 0, or a PayloadError naming it. */
export function count(value: unknown, what: string): number {
  const checkedNumber = number(value, what);
  if (!Number.isInteger(checkedNumber) || checkedNumber < 0) {
    throw new PayloadError(`${what} is ${checkedNumber}, not a count`);
  }
  return checkedNumber;
}

/** The value as a text; empty for anything else. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

/** A column of the given class and length; null when absent. Throws PayloadError on another type. */
export function column<T extends Column>(container: Container, name: string, type: new (n: number) => T): T | null {
  const array = container.arrays.get(name);
  if (array === undefined) {
    return null;
  }
  if (!(array instanceof type)) {
    throw new PayloadError(`array ${name} has an unexpected type`);
  }
  return array;
}

/** A required column with exactly `length` values. */
export function needColumn<T extends Column>(container: Container, name: string, type: new (n: number) => T, length: number): T {
  const columnValues = column(container, name, type);
  if (columnValues === null) {
    throw new PayloadError(`array ${name} is missing`);
  }
  if (columnValues.length !== length) {
    throw new PayloadError(`array ${name} has ${columnValues.length} values, expected ${length}`);
  }
  return columnValues;
}
