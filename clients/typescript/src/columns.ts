// Columns and tensors: arrays in messages (section 1 of docs/protocol.md).
//
// If the alignment allows it, packed data is not copied, so an array may share memory with others of its message. Typed
// arrays have the machine's byte order. That is little-endian, as in messages, on all machines with browsers.

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

/** Lists of different lengths in flat arrays: row r is `a.subarray(o[r], o[r + 1])`. */
export interface Ragged {
  o: Uint32Array;
  a: Uint32Array;
}

/**
 * Decodes a column of `type`; with `length`, the column must have this many numbers.
 * @throws LudexError `protocol` if the bytes do not fit.
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
  throw new LudexError(failure('protocol', `a column does not have ${length ?? 'only'} numbers of type ${type}`));
}

function tensor({ d, s, b, v }: WireTensor): Tensor {
  if (!(d in TYPES)) throw new LudexError(failure('protocol', `unknown type of a tensor: ${d}`));
  const size = s.reduce((product, n) => product * n, 1);
  return { shape: s, data: column(b ?? v ?? [], d, size) };
}

export function tensors(value: WireTensors): Tensors {
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, tensor(entry)]));
}

export function ragged({ o, a }: WireRagged): Ragged {
  return { o: column(o, 'u4'), a: column(a, 'u4') };
}

/**
 * Makes a column of integers to send.
 * @throws RangeError if a number does not fit `type`; a typed array would change it silently.
 */
export function packed<K extends 'u4' | 'i4'>(values: ArrayLike<number>, type: K): Arrays[K] {
  if (values instanceof TYPES[type]) return values as Arrays[K];
  const array = TYPES[type].from(values);
  for (let i = 0; i < array.length; i++) {
    if (array[i] !== values[i]) throw new RangeError(`${values[i]} at ${i} does not fit the type ${type}`);
  }
  return array as Arrays[K];
}

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export function bytes(value: WireBytes): Uint8Array {
  return typeof value === 'string' ? Uint8Array.from(atob(value), (c) => c.charCodeAt(0)) : value;
}
