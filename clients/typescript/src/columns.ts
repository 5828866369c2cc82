// Columns and tensors: arrays in messages (section 1 of docs/protocol.md).
//
// Packed data is not copied if its alignment allows, so arrays may share the memory of their message. Typed arrays use the
// byte order of the machine: little-endian, as in messages, on all platforms with browsers.

import { failure, LudexError } from './errors.js';
import type { Dtype, WireBytes, WireColumn, WireRagged, WireTensor, WireTensors } from './messages.js';

const TYPES = {
  u1: Uint8Array,
  i1: Int8Array,
  i2: Int16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};
type Arrays = { [K in keyof typeof TYPES]: InstanceType<(typeof TYPES)[K]> };

/** An array with a shape, in C order. */
export interface Tensor {
  shape: number[];
  data: Arrays[Dtype];
}
export type Tensors = Record<string, Tensor>;

/** Lists of variable length in flat arrays: row r is `a.subarray(o[r], o[r + 1])`. */
export interface Ragged {
  o: Uint32Array;
  a: Uint32Array;
}

/**
 * Decodes a column of `type`, with exactly `length` numbers if given.
 * @throws LudexError `protocol` if the size does not match.
 */
export function column<K extends keyof Arrays>(value: WireColumn, type: K, length?: number): Arrays[K] {
  const Type = TYPES[type] as unknown as {
    BYTES_PER_ELEMENT: number;
    from(values: number[]): Arrays[K];
    new (buffer: ArrayBufferLike, offset: number, length: number): Arrays[K];
  };
  let array: Arrays[K] | undefined;
  if (Array.isArray(value)) {
    array = Type.from(value);
  } else if (value instanceof Uint8Array && value.byteLength % Type.BYTES_PER_ELEMENT === 0) {
    const { buffer, byteOffset } = value.byteOffset % Type.BYTES_PER_ELEMENT === 0 ? value : new Uint8Array(value);
    array = new Type(buffer, byteOffset, value.byteLength / Type.BYTES_PER_ELEMENT);
  }
  if (array && (length === undefined || array.length === length)) return array;
  throw new LudexError(failure('protocol', `column: expected ${length ?? 'whole'} numbers of type ${type}, got ${value?.length} entries`));
}

function tensor({ d, s, b, v }: WireTensor): Tensor {
  if (!(d in TYPES)) throw new LudexError(failure('protocol', `tensor type: expected one of ${Object.keys(TYPES).join(', ')}, got ${d}`));
  const size = s.reduce((product, n) => product * n, 1);
  return { shape: s, data: column(b ?? v ?? [], d, size) };
}

/** Decodes tensors by name. */
export function tensors(value: WireTensors): Tensors {
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, tensor(entry)]));
}

/** Decodes a ragged column. */
export function ragged({ o, a }: WireRagged): Ragged {
  return { o: column(o, 'u4'), a: column(a, 'u4') };
}

/**
 * Returns integers as a column to send.
 * @throws RangeError if a number is out of range for `type`, which a typed array would truncate silently.
 */
export function packed<K extends 'u4' | 'i4'>(values: ArrayLike<number>, type: K): Arrays[K] {
  if (values instanceof TYPES[type]) return values as Arrays[K];
  const array = TYPES[type].from(values);
  for (let i = 0; i < array.length; i++) {
    if (array[i] !== values[i]) throw new RangeError(`[${i}]: expected an integer of type ${type}, got ${values[i]}`);
  }
  return array as Arrays[K];
}

/** Encodes bytes for a JSON message. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Decodes bytes of a message. */
export function bytes(value: WireBytes): Uint8Array {
  return typeof value === 'string' ? Uint8Array.from(atob(value), (c) => c.charCodeAt(0)) : value;
}
