// Golden frames in both encodings, and the message types.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Batch, LudexError } from '../src/index.js';
import { bytes, column, packed, tensors } from '../src/columns.js';
import type { ClientMessage, ErrorMessage, TurnMessage, WireBatch } from '../src/messages.js';
import { normalUrl, pack, unpack } from '../src/wire.js';

interface Frame { name: string; from: 'client' | 'server'; json: { type: string }; msgpack: string }

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const lines = readFileSync(here('../../../../tests/data/frames/frames.jsonl'), 'utf8').trim().split('\n');
const frames = lines.map((line) => JSON.parse(line) as Frame);

/** A server's frame, decoded from both encodings. */
function both<T>(name: string): [T, T] {
  const frame = frames.find((entry) => entry.name === name)!;
  return [unpack(Buffer.from(frame.msgpack, 'hex')), unpack(JSON.stringify(frame.json))] as [T, T];
}

test('encoded client messages equal the golden frames', () => {
  for (const { name, from, json, msgpack } of frames) {
    if (from !== 'client') continue;
    const message: Record<string, unknown> = { ...json, absent: undefined };
    if (message.envs) message.envs = packed(message.envs as number[], 'u4');
    if (message.actions) message.actions = packed(message.actions as number[], 'i4');
    if (message.items) message.items = (message.items as string[]).map(bytes);
    const sent = message as unknown as ClientMessage;
    assert.equal(Buffer.from(pack(sent, 'msgpack') as Uint8Array).toString('hex'), msgpack, name);
    assert.equal(pack(sent, 'json'), JSON.stringify(json), name);
  }
});

test('batches decoded from MessagePack and JSON are equal', () => {
  const spec = { players: 2, actions: 2 };
  const batches = ['batch', 'batch_dense', 'batch_same_step'].map((name) => {
    const [binary, text] = both<WireBatch>(name).map((message) => new Batch(message, spec, false));
    assert.deepEqual(binary, text, name);
    return binary!;
  });
  const [plain, dense, ended] = batches as [Batch, Batch, Batch];
  assert.deepEqual([...plain.length], [3, 70_000]);
  assert.deepEqual(plain.reward, Float32Array.of(0, 0.5, -1, 1));
  assert.deepEqual([plain.over(0), plain.over(1)], [false, true]);
  assert.deepEqual(dense.obs, { board: { shape: [2, 1, 2], data: Uint8Array.of(0, 1, 1, 0) } });
  assert.deepEqual([dense.legal(0), dense.legal(1)], [[0], [0]]);
  assert.deepEqual([dense.illegal, dense.seat], [Uint32Array.of(1), Int8Array.of(0, 1)]);
  assert.deepEqual(ended.final?.obs?.board?.data, Int32Array.of(-70_000));
  assert.deepEqual([ended.final?.returns, ended.final?.text], [Float64Array.of(-1, 1), ['x']]);
  assert.deepEqual(ended.chance?.p, Float64Array.of(0.25, 0.75));
  assert.deepEqual(ended.skipped?.returns, Float64Array.of(1, -1, 0.5, -0.5));
});

test('turns, errors and snapshots are decoded from MessagePack and JSON', () => {
  for (const turn of both<TurnMessage>('turn')) {
    assert.deepEqual(tensors(turn.view!.info!), { history: { shape: [2], data: Float32Array.of(0.5, 1) } });
  }
  for (const message of both<ErrorMessage>('error')) {
    const error = new LudexError(message);
    assert.deepEqual(
      [error.code, error.path, error.index, error.got, error.allowed, error.nearest],
      ['illegal_action', 'actions', 1, 9, [0, 1, 2], '0'],
    );
  }
  for (const { items } of both<{ items: (string | Uint8Array)[] }>('snapshots')) {
    assert.deepEqual(items.map((item) => [...bytes(item)]), [[0x81, 0xa1, 0x76, 1], []]);
  }
});

test('generated message types match the schema', async () => {
  const { generate } = (await import(new URL('../../generate.mjs', import.meta.url).href)) as { generate(schema: unknown): string };
  const schema = JSON.parse(readFileSync(here('../../../../docs/protocol.schema.json'), 'utf8'));
  assert.equal(readFileSync(here('../../src/messages.ts'), 'utf8'), generate(schema), 'run `npm run types`');
});

test('every golden frame has a message type', () => {
  // The compiler reports missing fields and narrow types.
  const checks = frames.map(({ name, from, json }) => {
    const type = from === 'client' ? 'ClientMessage' : 'ServerMessage';
    return `export const ${from}_${name}: ${type} = ${JSON.stringify(json)};`;
  });
  mkdirSync(here('../frames'), { recursive: true });
  const imports = "import type { ClientMessage, ServerMessage } from '../../src/messages.js';";
  writeFileSync(here('../frames/frames.ts'), [imports, ...checks].join('\n'));
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext'];
  const tsc = here('../../node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [tsc, ...options, here('../frames/frames.ts')], { encoding: 'utf8' });
  } catch (error) {
    assert.fail((error as { stdout: string }).stdout);
  }
});

test('invalid columns throw errors', () => {
  assert.deepEqual(column(new Uint8Array([9, 1, 0, 0, 0]).subarray(1), 'u4'), Uint32Array.of(1), 'not aligned');
  assert.throws(() => column(new Uint8Array(5), 'u4'), { code: 'protocol' });
  assert.throws(() => column([1, 2], 'f8', 3), { code: 'protocol' });
  assert.throws(() => packed([1, 1.5], 'i4'), RangeError);
  assert.throws(() => packed([-1], 'u4'), RangeError);
  assert.throws(() => unpack('[]'), { code: 'protocol' });
  assert.throws(() => unpack(Uint8Array.of(0xc1)), { code: 'protocol' });
});

test('URLs are normalized', () => {
  assert.equal(normalUrl('localhost:7878'), 'ws://localhost:7878/');
  assert.equal(normalUrl('https://example.org/ws#x'), 'wss://example.org/ws');
  assert.throws(() => normalUrl('ftp://example.org'), { code: 'bad_field', got: 'ftp://example.org' });
  assert.throws(() => normalUrl('a b'), { code: 'bad_field' });
});

test('no dependency is under the GPL', () => {
  const lock = JSON.parse(readFileSync(here('../../package-lock.json'), 'utf8'));
  const needs = Object.entries<{ license: string; resolved?: string }>(lock.packages);
  assert(needs.length > 5);
  for (const [name, { license, resolved }] of needs) {
    assert.match(license, /^(MIT|ISC|Apache-2\.0|MIT OR Apache-2\.0)$/, name);
    assert.equal(resolved, undefined, `${name}: package-lock.json names a host`);
  }
});
