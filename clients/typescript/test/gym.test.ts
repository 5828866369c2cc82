// Environments with a real server.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Batch, CHANCE, Client, type Encoding, type Env, LudexError, OVER, SIMULTANEOUS } from '../src/index.js';
import { Proxy } from './proxy.js';
import { Server, withoutServer } from './server.js';

/** Asserts that two results have equal arrays of equal types; 0 equals -0, as in JSON. */
function assertSame(left: unknown, right: unknown, message = 'equal'): void {
  const [a, b] = [left, right].map((result) =>
    JSON.stringify(result, (_, value: unknown) =>
      ArrayBuffer.isView(value) ? [value.constructor.name, ...(value as Int8Array)] : value),
  ) as [string, string];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  // Prints only the text around the first difference, since a batch is long.
  if (a !== b) assert.equal(a.slice(Math.max(0, at - 200), at + 50), b.slice(Math.max(0, at - 200), at + 50), message);
}

describe('environments', { skip: withoutServer, timeout: 60_000 }, () => {
  let server: Server;
  let clients: Record<Encoding, Client>;

  before(async () => {
    server = await Server.start();
    clients = {
      msgpack: await Client.connect(server.url),
      json: await Client.connect(server.url, { encoding: 'json' }),
    };
  });
  after(async () => {
    clients.msgpack.close();
    clients.json.close();
    await server.stop();
  });

  /** Returns a legal move for each row, pseudo-random and reproducible. */
  function moves(batch: Batch, step: number): Int32Array {
    return Int32Array.from({ length: batch.rows }, (_, row) => {
      const legal = batch.legal(row);
      const drawn = Math.imul(step * 64 + row + 1, 0x9e3779b1) >>> 16;
      return legal[drawn % legal.length] ?? -1;
    });
  }

  /** Runs `work` in both encodings and asserts that the results are equal. */
  async function inBoth<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const [binary, text] = [await work(clients.msgpack), await work(clients.json)];
    assertSame(binary, text);
    return binary;
  }

  test('games are listed and described', async () => {
    const games = await inBoth((client) => client.games({ information: 'imperfect' }));
    assert(games.some(({ game, players }) => game === 'kuhn_poker' && players[0] === 2));
    const spec = await inBoth((client) => client.describe('connect_four', { rules_text: true }));
    assert.deepEqual([spec.players, spec.actions, spec.dynamics], [2, 7, 'sequential']);
    assert(spec.text?.startsWith('# Connect'));
    assert(clients.json.limits.batch! >= 1024 && clients.json.scopes.includes('gym'));
    assert.match(clients.json.server, /^ludex\//);
  });

  test('errors have structured fields', async () => {
    await assert.rejects(clients.msgpack.describe('conect_four'), (error: LudexError) => {
      assert(error instanceof LudexError);
      assert.deepEqual([error.code, error.nearest, error.fault], ['unknown_game', 'connect_four', 'client']);
      return true;
    });
    await assert.rejects(clients.json.open('connect_four', { params: { row: 5 } }), { code: 'bad_params' });
    const env = await clients.json.open('tic_tac_toe', { count: 3 });
    await env.reset();
    await assert.rejects(env.step([0, 9, 1]), { code: 'illegal_action', index: 1, got: 9 });
    await assert.rejects(env.step([0, 1]), { code: 'bad_shape' });
    await assert.rejects(env.step([0, 1, 0.5]), RangeError);
    assert.deepEqual([...(await env.step([0, 1, 2])).length], [1, 1, 1], 'no environment has moved');
  });

  for (const mask of ['u1', 'bits', 'ids'] as const) {
    test(`batches over MessagePack and JSON are equal, masks as ${mask}`, async () => {
      const batches = await inBoth(async (client) => {
        const views = ['tensor', 'struct', 'text', 'returns'] as const;
        const env = await client.open('connect_four', { count: 16, autoreset: 'same_step', mask, views: [...views] });
        let batch = await env.reset({ seed: 11 });
        const all = [batch];
        for (let step = 0; step < 60; step++) all.push((batch = await env.step(moves(batch, step))));
        await env.close();
        return all;
      });
      const ended = batches.filter((batch) => batch.final);
      assert(ended.length > 3, 'episodes ended');
      for (const { final, reward, rows } of ended) {
        for (const [k, row] of final!.at.entries()) {
          assert(row < rows && final!.length[k]! >= 7);
          assert.equal(reward[2 * row]!, final!.returns[2 * k]!);
        }
      }
      const { obs } = batches[0]!;
      assert.deepEqual(Object.values(obs!)[0]!.shape, [16, 2, 6, 7]);
      assert.deepEqual(batches[0]!.legal(15), [0, 1, 2, 3, 4, 5, 6]);
    });
  }

  test('all mask encodings have the same legal ids', async () => {
    const runs = await Promise.all((['u1', 'bits', 'ids'] as const).map(async (mask) => {
      const env = await clients.msgpack.open('tic_tac_toe', { count: 8, mask });
      let batch = await env.reset({ seed: 1 });
      const legal = [];
      for (let step = 0; step < 30; step++) {
        legal.push(Array.from({ length: 8 }, (_, row) => batch.legal(row)));
        batch = await env.step(moves(batch, step));
      }
      return legal;
    }));
    assert.deepEqual(runs[0], runs[1]);
    assert.deepEqual(runs[0], runs[2]);
    const none = await clients.msgpack.open('tic_tac_toe', { mask: 'none' });
    const batch = await none.reset();
    assert.deepEqual([batch.mask, batch.legal()], [undefined, []]);
  });

  test('views, texts, snapshots and clones work in one episode', async () => {
    await inBoth(async (client) => {
      const env = await client.open('tic_tac_toe', { autoreset: 'disabled', mask: 'ids', views: ['returns'] });
      let batch = await env.reset({ seed: 7n });
      assert.deepEqual([batch.to_move[0], batch.legal()], [0, [0, 1, 2, 3, 4, 5, 6, 7, 8]]);
      batch = await env.step([4]);
      const { names, parsed } = await env.view({ names: [0, 4], parse: ['o(0,1)', 'nonsense'] });
      assert.deepEqual([names![0], parsed], ['o(0,0)', [1, null]]);
      const seen = await env.view({ seat: 1, views: ['struct', 'text', 'tensor', 'picture'] });
      assert.deepEqual(seen.struct, { board: ['...', '.x.', '...'], to_move: 'o' });
      assert.deepEqual(Object.values(seen.tensor!)[0]!.shape, [2, 3, 3]);
      assert.match(seen.picture!.svg, /^<svg .*<\/svg>$/s);
      assert.deepEqual(Object.keys(seen.picture!.gestures!), ['0', '1', '2', '3', '5', '6', '7', '8']);
      const snapshot = await env.snapshot();
      const twin = await env.clone();
      for (const move of [0, 2, 1, 6]) batch = await env.step([move]);
      assert.deepEqual([batch.to_move[0], batch.over(0), [...batch.returns!]], [OVER, true, [1, -1]]);
      assert.deepEqual(batch.legal(), []);
      await assert.rejects(env.step([3]), { code: 'env_over' });
      batch = await env.restore(snapshot);
      assert.equal(batch.length[0], 1);
      const [here, there] = [await env.step(['o(0,0)']), await twin.step([0])];
      assertSame(here, there);
      await assert.rejects(env.restore([Uint8Array.of(1, 2, 3)]), { code: 'bad_snapshot' });
      await env.close();
      await env.close();
      await assert.rejects(env.reset(), { code: 'unknown_env' });
      return [seen, snapshot, here];
    });
  });

  test('argument envs selects environments', async () => {
    const env = await clients.json.open('kuhn_poker', { count: 4, autoreset: 'disabled' });
    const first = await env.reset({ seeds: ['18446744073709551615', 5], envs: [3, 1] });
    assert.deepEqual(first.envs, Uint32Array.of(3, 1));
    const again = await env.reset({ seed: 4n });
    const [of, data] = [first.obs!.observation!.data, again.obs!.observation!.data];
    assert.deepEqual(data.slice(data.length / 4, data.length / 2), of.slice(of.length / 2), 'both with seed 5');
    const one = await env.step(Int32Array.of(1), Uint32Array.of(2));
    assert.deepEqual([one.rows, one.length[0]], [1, 1]);
  });

  test('client chooses chance outcomes', async () => {
    await inBoth(async (client) => {
      const env = await client.open('kuhn_poker', { chance: 'client', autoreset: 'disabled', views: ['returns'] });
      let batch = await env.reset();
      assert.equal(batch.to_move[0], CHANCE);
      assert.deepEqual(batch.legal(), [0, 1, 2]);
      assert.deepEqual(batch.chance!.p, Float64Array.of(1 / 3, 1 / 3, 1 / 3));
      for (const move of [2, 0, 1, 1]) batch = await env.step([move]);
      assert.deepEqual([...batch.returns!], [2, -2]);
      return batch;
    });
  });

  test('batch has joint moves and views of all seats', async () => {
    await inBoth(async (client) => {
      const params = { num_repetitions: 2 };
      const views = ['tensor', 'text', 'struct', 'returns'] as const;
      const options = { params, count: 2, observer: 'all' as const, views: [...views] };
      const env = await client.open('iterated_prisoners_dilemma', options);
      let batch = await env.reset();
      assert.deepEqual([...batch.to_move], [SIMULTANEOUS, SIMULTANEOUS]);
      assert.deepEqual([batch.legal(1, 0), batch.legal(1, 1)], [[0, 1], [0, 1]]);
      assert.deepEqual(Object.values(batch.obs!)[0]!.shape.slice(0, 2), [2, 2]);
      assert.deepEqual([batch.text!.length, batch.struct!.length], [4, 4]);
      batch = await env.step([0, 1, 1, 1]);
      assert.deepEqual([...batch.reward], [0, 10, 1, 1]);
      return batch;
    });
  });

  test('server agents play the other seats', async () => {
    const env = await clients.msgpack.open('tic_tac_toe', {
      count: 32, seats: ['agent', 'random'], rotate: 'cycle', autoreset: 'same_step',
    });
    let batch = await env.reset({ seed: 4 });
    const seats = new Set<number>();
    for (let step = 0; step < 30; step++) {
      assert.deepEqual(batch.to_move, batch.seat);
      for (const seat of batch.seat!) seats.add(seat);
      batch = await env.step(moves(batch, step));
    }
    assert.deepEqual([...seats].sort(), [0, 1]);
    await assert.rejects(env.reset({ seats: ['agent', 'rondom'] }), { code: 'unknown_agent' });
  });

  test('overlapping requests are executed in order', async () => {
    const [ahead, behind] = await Promise.all(
      [0, 1].map(() => clients.msgpack.open('tic_tac_toe', { count: 4 })),
    ) as [Env, Env];
    const lines = [4, 0, 8, 1, 2, 6].map((move) => Array<number>(4).fill(move));
    const [, ...pending] = await Promise.all([ahead.reset({ seed: 0 }), ...lines.map((line) => ahead.step(line))]);
    await behind.reset({ seed: 0 });
    for (const [i, line] of lines.entries()) assertSame(await behind.step(line), pending[i]);
  });

  test('steps survive a connection cut at every message', async () => {
    async function run(url: string, encoding: Encoding): Promise<Batch[]> {
      const client = await Client.connect(url, { encoding });
      const env = await client.open('connect_four', { count: 4, autoreset: 'same_step' });
      const batches = [await env.reset({ seed: 5 })];
      for (let step = 0; step < 4; step++) batches.push(await env.step(moves(batches.at(-1)!, step)));
      client.close();
      return batches;
    }
    const expected = await run(server.url, 'json');
    for (const from of ['client', 'server'] as const) {
      for (let message = 1; message <= 7; message++) {
        for (const when of ['before', 'after'] as const) {
          const proxy = await Proxy.start(server.url, { from, message, when });
          const encoding = message % 2 ? 'msgpack' : 'json';
          assertSame(await run(proxy.url, encoding), expected, `cut ${when} message ${message} from the ${from}`);
          // A cut after the last message happens after the last reply.
          assert(proxy.cuts === 1 || message === 7);
          proxy.stop();
        }
      }
    }
  });

  test('environments of a lost session fail with session_lost', async () => {
    const lost = await Server.start();
    const client = await Client.connect(lost.url);
    const env = await client.open('tic_tac_toe');
    await lost.kill();
    const opening = client.open('tic_tac_toe');
    const waiting = assert.rejects(env.reset(), { code: 'session_lost' });
    await lost.run(new URL(lost.url).host);
    await waiting;
    const again = await opening;
    assert.equal((await again.reset()).rows, 1);
    await assert.rejects(env.reset(), { code: 'session_lost' }, 'its number now belongs to the new handle');
    client.close();
    await lost.stop();
  });

  test('unreachable server fails with connection_lost', async () => {
    await assert.rejects(Client.connect('ws://127.0.0.1:9', { patience_ms: 200 }), { code: 'connection_lost' });
    await assert.rejects(Client.connect('ftp://127.0.0.1'), { code: 'bad_field' });
    const client = await Client.connect(['ws://127.0.0.1:9', server.url]);
    client.close();
    await assert.rejects(client.games(), { code: 'connection_lost' });
  });
});
