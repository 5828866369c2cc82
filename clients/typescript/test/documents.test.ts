// Documents as moves, single and joint, in the game `naming` of the example crate.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client, LudexError, play, SIMULTANEOUS } from '../src/index.js';
import { ownGame, Server } from './server.js';

const skip = ownGame ? false : 'OWN_GAME_BIN is not set: cargo build -p own-game';

describe('documents', { skip, timeout: 60_000 }, () => {
  let server: Server;
  before(async () => (server = await Server.of(ownGame!)));
  after(() => server.stop());

  for (const encoding of ['msgpack', 'json'] as const) {
    test(`environment accepts documents as joint moves over ${encoding}`, async () => {
      const client = await Client.connect(server.url, { encoding });
      const env = await client.open('naming', { observer: 'all' });
      const batch = await env.reset({ seed: 1 });
      assert.equal(batch.to_move[0], SIMULTANEOUS);
      assert.deepEqual((await env.view({ seat: 1 })).schema, 'name');
      await assert.rejects(env.step([{ number: 12, x: 1 }, 3]), (error: LudexError) => {
        assert.deepEqual([error.code, error.issues.map(({ path }) => path)], ['illegal_action', ['/number', '/x']]);
        return true;
      });
      assert.equal((await env.step([{ number: 7 }, 3])).to_move[0], 0);
      const items = await env.snapshot();
      const { phase, schema, struct } = await env.view({ views: ['struct'] });
      assert.deepEqual([phase, schema, (struct as { numbers: number[] }).numbers], ['swap', 'swap/first', [7, 3]]);
      const over = await env.step([{ swap: true, say: 'so be it' }, null]);
      assert.deepEqual(Array.from(over.reward), [-4, 4]);
      await env.restore(items);
      const { struct: again } = await env.view({ views: ['struct'] });
      assert.deepEqual(again, struct);
      client.close();
    });

    test(`match accepts documents over ${encoding}`, async () => {
      const requests: unknown[] = [];
      const [result] = await play(server.url, {
        game: 'naming', against: 'random', seat: 0, encoding,
        agent: ({ phase, schema, try: attempt, refusal }) => {
          requests.push([schema, refusal?.issues.map(({ path, code }) => `${path} ${code}`)]);
          if (phase === 'name') return { number: attempt === 0 ? -1 : 9 };
          return { swap: false, say: 'kept' };
        },
      });
      assert.equal(result!.reason, 'finished');
      assert.deepEqual(requests, [['name', undefined], ['name', ['/number minimum']], ['swap/first', undefined]]);
    });
  }
});
