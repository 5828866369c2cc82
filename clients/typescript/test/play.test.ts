// Matches with a real server.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';

import { decode } from '@msgpack/msgpack';

import { type EventMessage, type MatchResult, play, type PlayOptions, type Turn } from '../src/index.js';
import { type Cut, Proxy } from './proxy.js';
import { Server, withoutServer } from './server.js';

const first = ({ legal }: Turn) => legal[0]!;

describe('matches', { skip: withoutServer, timeout: 60_000 }, () => {
  let server: Server;
  before(async () => (server = await Server.start()));
  after(() => server.stop());

  for (const encoding of ['msgpack', 'json'] as const) {
    test(`agent plays whole matches over ${encoding}`, async () => {
      const events: EventMessage[] = [];
      const turns: Turn[] = [];
      const results = await play(server.url, {
        game: 'tic_tac_toe', against: 'random', games: 6, slots: 3, encoding, views: ['struct', 'texts', 'tensor'],
        name: 'tester', version: '7', kind: 'learner',
        on_event: (event) => events.push(event),
        agent: async (turn) => {
          turns.push(turn);
          await null;
          turn.notes.say = 'hello';
          return turn.legal.at(-1)!;
        },
      });
      assert.equal(new Set(results.map(({ match }) => match)).size, 6);
      assert.equal(results.filter(({ seat }) => seat === 0).length, 3);
      for (const { reason, seat, seats, returns, outcome, record, match } of results) {
        assert.deepEqual([reason, seats[seat], record], ['finished', 'tester', `/episodes/${match}`]);
        assert.equal(outcome[seat], ['loss', 'draw', 'win'][returns[seat]! + 1]);
      }
      const [turn] = turns as [Turn];
      assert.deepEqual(turn.view.tensor!.board!.shape, [2, 3, 3]);
      assert.equal(turn.view.tensor!.board!.data.constructor, Uint8Array);
      assert.deepEqual(Object.keys(turn.view.struct as object), ['board', 'to_move']);
      assert.deepEqual([turn.try, turn.names!.length], [0, turn.legal.length]);
      assert.equal(turn.start.seats[turn.seat]!.kind, 'learner');
      assert(turn.budget_ms! > 5_000 && turn.signal instanceof AbortSignal && turn.refusal === undefined);
      const kinds = new Set(events.map((event) => (event.type === 'event' ? event.kind : event.type)));
      for (const kind of ['match_start', 'move', 'say', 'match_end']) assert(kinds.has(kind as 'move'), kind);
    });
  }

  test('text moves are accepted, and refused moves repeat the turn', async () => {
    const tries: number[] = [];
    const [result] = await play(server.url, {
      game: 'tic_tac_toe', against: ['random'], seat: 0,
      agent: (turn) => {
        tries.push(turn.try);
        assert.equal(turn.names!.length, turn.legal.length);
        if (turn.try === 0) return 'nonsense';
        assert.deepEqual([turn.refusal!.code, turn.refusal!.tries_left], ['unparsed', 2]);
        return turn.names!.at(-1)!;
      },
    });
    assert.equal(result!.reason, 'finished');
    assert(tries.length >= 6 && tries.every((attempt, i) => attempt === i % 2));
  });

  test('too many refused moves forfeit the match', async () => {
    let calls = 0;
    const agent = () => (calls++, 99);
    const [result] = await play(server.url, { game: 'tic_tac_toe', against: 'random', agent });
    assert.deepEqual([result!.reason, result!.at_fault, result!.returns[result!.seat]], ['illegal', result!.seat, -1]);
    assert.equal(calls, 3);
  });

  test('two bots in one queue play each other concurrently', async () => {
    let active = 0;
    let maxActive = 0;
    const bot = (name: string) =>
      play(server.url, {
        game: 'connect_four(rows=4,columns=4,x_in_row=3)', queue: 'live-test', games: 4, slots: 2, name,
        agent: async ({ legal, turn }) => {
          maxActive = Math.max(maxActive, ++active);
          await new Promise((resolve) => setTimeout(resolve, 2));
          active--;
          return legal[turn % legal.length]!;
        },
      });
    const [left, right] = await Promise.all([bot('left'), bot('right')]);
    const key = ({ match, returns }: MatchResult) => `${match} ${returns}`;
    assert.deepEqual(left.map(key).sort(), right.map(key).sort());
    assert(left.every(({ seats }) => [...seats].sort().join() === 'left,right'));
    assert(maxActive >= 2);
  });

  test('agents play joint moves', async () => {
    const params = { num_repetitions: 3 };
    const options = { game: 'iterated_prisoners_dilemma', params, against: 'random', views: ['struct' as const] };
    const [result] = await play(server.url, { ...options, agent: () => 'Defect' });
    assert.deepEqual([result!.reason, result!.returns.length], ['finished', 2]);
  });

  test('errors of server, agent and callback end the call', async () => {
    const options: PlayOptions = { game: 'tic_tac_toe', against: 'random', agent: first };
    const fails = (more: Partial<PlayOptions>, error: object) =>
      assert.rejects(play(server.url, { ...options, ...more }), error);
    await fails({ game: 'tick_tac_toe' }, { code: 'unknown_game', nearest: 'tic_tac_toe' });
    await fails({ against: 'uci cmd=/bin/true' }, { code: 'forbidden' });
    await fails({ name: 'no name' }, { code: 'bad_field', path: 'agent.name' });
    await fails({ game: undefined }, { code: 'bad_field' });
    await fails({ agent: () => NaN }, TypeError);
    await fails({ agent: () => Promise.reject(new Error('no idea')) }, /no idea/);
    await fails({ on_event: () => { throw new Error('callback failed'); } }, /callback failed/);
    await assert.rejects(play('ws://127.0.0.1:9', { ...options, patience_ms: 100 }), { code: 'connection_lost' });
    let turns = 0;
    const agent = ({ legal }: Turn) => (++turns < 20 ? legal[0]! : (null as unknown as number));
    await fails({ games: 0, agent }, TypeError);
  });

  test('abort signal stops playing', async () => {
    const stop = new AbortController();
    const playing = play(server.url, {
      game: 'tic_tac_toe', against: 'random', games: 0, signal: stop.signal,
      on_event: ({ type }) => type === 'match_end' && stop.abort(new Error('enough')),
      agent: first,
    });
    await assert.rejects(playing, /enough/);
    await assert.rejects(play(server.url, { game: 'tic_tac_toe', signal: stop.signal, agent: first }), /enough/);
    const thinking = new AbortController();
    let aborted = false;
    const agent = ({ signal }: Turn) => {
      signal.addEventListener('abort', () => (aborted = true));
      thinking.abort(new Error('no more'));
      return new Promise<number>(() => {});
    };
    const options = { game: 'tic_tac_toe', against: 'random', signal: thinking.signal, agent };
    await assert.rejects(play(server.url, options), /no more/);
    assert(aborted, 'the signal of the turn was aborted');
  });

  describe('match survives a connection cut', () => {
    const places = [['server', 'before'], ['server', 'after'], ['client', 'before'], ['client', 'after']] as const;
    for (const [from, when] of places) {
      for (const encoding of ['msgpack', 'json'] as const) {
        test(`${when} a message from the ${from}, ${encoding}`, async () => {
          for (let message = 1; await survives({ from, when, message }, encoding); message++);
        });
      }
    }

    /** Plays a match over a connection that is cut once. Returns false if the match ended before the cut. */
    async function survives(plan: Cut, encoding: 'msgpack' | 'json'): Promise<boolean> {
      const proxy = await Proxy.start(server.url, plan);
      const requests: string[] = [];
      const agent = async (turn: Turn) => {
        requests.push(`${turn.turn} ${turn.try}`);
        await null;
        return turn.turn === 1 && turn.try === 0 ? 99 : turn.legal[0]!;
      };
      const results = await play(proxy.url, { game: 'tic_tac_toe', against: 'random', seat: 0, encoding, agent });
      proxy.stop();
      assert.deepEqual(results.map(({ reason }) => reason), ['finished'], `cut ${plan.when} ${plan.message}`);
      assert.equal(new Set(requests).size, requests.length, `requested ${requests}`);
      // An act may be sent again, but never a different one for the same turn and try.
      const acts = proxy.sent
        .map((body) => (encoding === 'json' ? JSON.parse(body.toString()) : decode(body)) as Record<string, unknown>)
        .filter(({ type }) => type === 'act');
      const keys = new Set(acts.map((act) => `${act.turn} ${act.try}`));
      assert.equal(new Set(acts.map((act) => JSON.stringify(act))).size, keys.size, 'one act per key');
      return proxy.cuts > 0;
    }
  });

  test('concurrent matches survive repeated connection cuts', async () => {
    const proxy = await Proxy.start(server.url);
    const requests: string[] = [];
    const results = await play(proxy.url, {
      game: 'connect_four', against: 'random', games: 5, slots: 2, encoding: 'json',
      agent: async (turn) => {
        requests.push(`${turn.match} ${turn.turn} ${turn.try}`);
        if (requests.length % 3 === 0) proxy.cut();
        if (requests.length % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        return turn.legal[requests.length % turn.legal.length]!;
      },
    });
    proxy.stop();
    assert(proxy.cuts > 5);
    const hellos = proxy.sent.map((body) => JSON.parse(body.toString())).filter(({ type }) => type === 'hello');
    const { version } = createRequire(import.meta.url)('../../package.json');
    assert.equal(hellos[0].client, `ludex-typescript/${version}`);
    const seen = hellos.slice(1).map(({ resume }) => Object.values<number>(resume.seen));
    assert(seen.length > 5 && seen.every((seqs) => seqs.some((seq) => seq > 0)), 'hello has the received seqs');
    assert.deepEqual(results.map(({ reason }) => reason), Array(5).fill('finished'));
    assert.equal(new Set(requests).size, requests.length);
  });

  test('second process reclaims the seats of a crashed one', async () => {
    const options = { game: 'connect_four', against: 'random', name: 'phoenix' };
    const matches = new Set<string>();
    let hangs = () => {};
    const hanging = new Promise<void>((resolve) => (hangs = resolve));
    const dead = play(server.url, {
      ...options,
      agent: (turn) => {
        matches.add(turn.match);
        if (turn.turn < 2) return turn.legal[0]!;
        hangs();
        return new Promise<number>(() => {});
      },
    });
    const superseded = assert.rejects(dead, { code: 'superseded' });
    await hanging;
    let begins: number | undefined;
    const agent = (turn: Turn) => ((begins ??= turn.turn), turn.legal[0]!);
    const [result] = await play(server.url, { ...options, agent, reclaim: true });
    await superseded;
    assert.deepEqual([result!.reason, begins, [...matches]], ['finished', 2, [result!.match]]);
  });

  test('match survives a server crash', async () => {
    const mortal = await Server.start();
    const requests: string[] = [];
    let resyncs = 0;
    let onResync = () => {};
    const resync = new Promise<void>((resolve) => (onResync = resolve));
    const [result] = await play(mortal.url, {
      game: 'connect_four', against: 'random', rated: true,
      on_event: ({ type }) => {
        if (type !== 'resync') return;
        resyncs++;
        onResync();
      },
      agent: async (turn) => {
        requests.push(`${turn.turn} ${turn.try}`);
        if (requests.length === 3) {
          await mortal.kill();
          await mortal.run(new URL(mortal.url).host);
          await resync;
        }
        return turn.legal[turn.turn % turn.legal.length]!;
      },
    });
    await mortal.stop();
    assert.deepEqual([result!.reason, resyncs], ['finished', 1]);
    assert.equal(new Set(requests).size, requests.length, 'the pending turn was requested once');
  });

  test('ping detects a silent server', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] });
    const proxy = await Proxy.start(server.url);
    const agent = ({ turn, legal }: Turn) => {
      if (turn === 1) context.mock.timers.tick(50_000);
      if (turn === 2) {
        assert.deepEqual([count('ping'), count('hello')], [1, 1], 'one ping was sent and answered');
        proxy.freeze();
        context.mock.timers.tick(60_000);
      }
      return legal[0]!;
    };
    const count = (type: string) => proxy.sent.filter((body) => JSON.parse(body.toString()).type === type).length;
    const options: PlayOptions = { game: 'connect_four', against: 'random', encoding: 'json', agent };
    const [result] = await play(proxy.url, options);
    assert.deepEqual([result!.reason, count('hello')], ['finished', 2]);
    proxy.stop();
  });
});
