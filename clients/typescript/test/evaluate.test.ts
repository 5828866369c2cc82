// Runs with a real server.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { Client, evaluate, type RunStanding, type Turn } from '../src/index.js';
import { type Cut, Proxy } from './proxy.js';
import { Server, withoutServer } from './server.js';

const SUITE = `
name = "tiny"
version = 3
title = "Small games"

[[part]]
id = "nim"
game = "nim(pile_sizes=1;3)"
schedule = "against"
opponents = ["solver"]
blocks = 2

[[part]]
id = "kuhn"
game = "kuhn_poker"
schedule = "against"
opponents = ["random"]
blocks = 2

[[part]]
id = "duel"
game = "tic_tac_toe"
schedule = "round_robin"
blocks = 1
`;

const first = ({ legal }: Turn) => legal[0]!;
const key = ({ match, turn, try: attempt }: Turn) => `${match} ${turn} ${attempt}`;

describe('runs', { skip: withoutServer, timeout: 120_000 }, () => {
  let folder: string;
  let server: Server;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ludex-suite-'));
    await writeFile(join(folder, 'tiny.toml'), SUITE);
    server = await start();
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });
  const start = () => Server.start('--suite', join(folder, 'tiny.toml'), '--suite', 'quick');

  test('client lists suites of the server', async () => {
    const client = await Client.connect(server.url);
    const suites = await client.suites();
    client.close();
    assert.deepEqual(suites.map(({ suite }) => suite), ['quick', 'tiny']);
    const { version, title, matches, parts, digest } = suites[1]!;
    assert.deepEqual([version, title, matches], [3, 'Small games', 8]);
    assert.match(digest, /^[0-9a-f]+$/);
    assert.deepEqual(parts.map(({ part, game, matches: most, candidates }) => [part, game, most, candidates]), [
      ['nim', 'nim(pile_sizes=[1,3],is_misere=true)', 4, 1], ['kuhn', 'kuhn_poker(players=2)', 4, 1],
      ['duel', 'tic_tac_toe', 2, 2],
    ]);
  });

  for (const encoding of ['msgpack', 'json'] as const) {
    test(`agent plays a whole run over ${encoding}`, async () => {
      const standings: RunStanding[] = [];
      let [active, maxActive] = [0, 0];
      const enrolment = { suite: 'tiny', run: `whole-${encoding}`, slots: 3 };
      const options = {
        name: 'whole', encoding, version: '7', on_progress: (standing: RunStanding) => void standings.push(standing),
      };
      const agent = async (turn: Turn) => {
        maxActive = Math.max(maxActive, ++active);
        await new Promise((resolve) => setTimeout(resolve, 2));
        active--;
        return turn.legal[0]!;
      };
      const end = await evaluate(server.url, enrolment, agent, options);
      assert.deepEqual(standings.map(({ done, due }) => [done, due]), Array.from({ length: 9 }, (_, i) => [i, 8 - i]));
      const tallies = Object.values(standings.at(-1)!.verdict_so_far as Record<string, Record<string, number>>);
      const counted = tallies.flatMap((tally) => Object.values(tally)).reduce((sum, n) => sum + n, 0);
      assert.equal(counted, 8);
      assert.deepEqual([end.run, end.reason], [enrolment.run, 'done']);
      // The solver wins every match of nim against this agent. A duel needs two candidates.
      const parts = end.verdict.parts as { part: string; wins: number; draws: number; losses: number }[];
      const [nim, kuhn, ...others] = parts.map(({ wins, draws, losses }) => [wins, draws, losses]);
      assert.deepEqual([nim, kuhn![0]! + kuhn![2]!, others], [[0, 0, 4], 4, []]);
      assert.deepEqual([end.ratings.length, end.ratings[0]!.part], [1, 'kuhn']);
      assert(maxActive > 1 && maxActive <= 3, `${maxActive} at a time`);
      const page = await fetch(new URL(end.report, server.url.replace('ws', 'http')));
      assert.equal(page.status, 200, 'the report exists');

      // The same enrolment returns the same result without playing.
      standings.length = 0;
      const again = await evaluate(server.url, enrolment, () => assert.fail('no move is requested again'), options);
      assert.deepEqual([again, standings.map(({ due }) => due)], [end, [0]]);
    });
  }

  test('second process continues an interrupted run', async () => {
    const enrolment = { suite: 'tiny', run: 'two-processes' };
    const stop = new AbortController();
    const requests: string[] = [];
    const agent = (turn: Turn) => (requests.push(key(turn)), turn.legal.at(-1)!);
    const on_progress = ({ done }: RunStanding) => done === 3 && stop.abort(new Error('enough'));
    await assert.rejects(evaluate(server.url, enrolment, agent, { name: 'heir', signal: stop.signal, on_progress }), /enough/);
    const standings: number[] = [];
    const onProgress = ({ done }: RunStanding) => void standings.push(done);
    const end = await evaluate(server.url, enrolment, agent, { name: 'heir', on_progress: onProgress });
    assert.deepEqual([end.reason, standings], ['done', [3, 4, 5, 6, 7, 8]]);
    assert.equal(new Set(requests.map((turn) => turn.split(' ')[0])).size, 8, 'no match was played twice');
  });

  test('run continues after errors of the agent', async () => {
    const enrolment = { suite: 'tiny', run: 'mended', only: ['nim'] };
    const options = { name: 'mended' };
    let turns = 0;
    const fails = (turn: Turn) => (++turns < 4 ? turn.legal[0]! : (undefined as unknown as number));
    await assert.rejects(evaluate(server.url, enrolment, fails, options), TypeError);
    await assert.rejects(evaluate(server.url, enrolment, () => Promise.reject(new Error('no idea')), options), /no idea/);
    const throws = () => { throw new Error('callback failed'); };
    await assert.rejects(evaluate(server.url, enrolment, first, { ...options, on_progress: throws }), /callback failed/);
    await assert.rejects(evaluate(server.url, enrolment, first, { ...options, on_event: throws }), /callback failed/);
    assert.equal((await evaluate(server.url, enrolment, first, options)).reason, 'done');
  });

  describe('run survives a connection cut', () => {
    for (const [from, when] of [['server', 'before'], ['client', 'after']] as const) {
      test(`${when} a message from the ${from}`, async () => {
        for (let message = 1; await survives({ from, when, message }); message++);
      });
    }

    /** Plays a run over a connection that is cut once. Returns false if the run ended before the cut. */
    async function survives(plan: Cut): Promise<boolean> {
      const proxy = await Proxy.start(server.url, plan);
      const requests: string[] = [];
      const dones: number[] = [];
      const run = `cut-${plan.from}-${plan.when}-${plan.message}`;
      const agent = async (turn: Turn) => (requests.push(key(turn)), await null, turn.legal[0]!);
      const options = { name: 'cut', encoding: 'json' as const, on_progress: ({ done }: RunStanding) => void dones.push(done) };
      const enrolment = { suite: 'tiny', run, only: ['nim'], scale: 0.5 };
      const { reason, verdict } = await evaluate(proxy.url, enrolment, agent, options);
      proxy.stop();
      const where = `cut ${run}`;
      assert.deepEqual([reason, (verdict.parts as object[]).length], ['done', 1], where);
      assert.equal(new Set(requests).size, requests.length, `${where}: requested ${requests}`);
      assert.deepEqual(dones, [...dones].sort(), where);
      const messages = proxy.sent.map((body) => JSON.parse(body.toString()) as Record<string, unknown>);
      const acts = messages.filter(({ type }) => type === 'act');
      const keys = new Set(acts.map((act) => `${act.match} ${act.turn} ${act.try}`));
      assert.equal(new Set(acts.map((act) => JSON.stringify(act))).size, keys.size, `${where}: one act per key`);
      const count = (wanted: string) => messages.filter(({ type }) => type === wanted).length;
      if (proxy.cuts > 0 && plan.from === 'server') assert(count('enrol') >= count('hello') - 1, `${where}: enrolled again`);
      return proxy.cuts > 0;
    }
  });

  test('concurrent matches survive repeated connection cuts', async () => {
    const proxy = await Proxy.start(server.url);
    const requests: string[] = [];
    const agent = async (turn: Turn) => {
      requests.push(key(turn));
      if (requests.length % 5 === 0) proxy.cut();
      if (requests.length % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      return turn.legal[0]!;
    };
    const { reason } = await evaluate(proxy.url, { suite: 'tiny', run: 'thinking', slots: 3 }, agent, { name: 'thinker' });
    proxy.stop();
    assert(proxy.cuts >= 2);
    assert.deepEqual([reason, new Set(requests).size], ['done', requests.length]);
  });

  test('run survives server crashes', async () => {
    const mortal = await start();
    const requests: string[] = [];
    let crashes = 0;
    const agent = async (turn: Turn) => {
      requests.push(key(turn));
      if (requests.length % 4 === 3 && crashes < 2) {
        crashes++;
        await mortal.kill();
        await mortal.run(new URL(mortal.url).host);
      }
      return turn.legal[0]!;
    };
    const end = await evaluate(mortal.url, { suite: 'tiny', run: 'mortal' }, agent, { name: 'lasting' });
    assert.deepEqual([end.reason, crashes], ['done', 2]);
    await mortal.stop();
    assert.equal(new Set(requests.map((turn) => turn.split(' ')[0])).size, 8);
  });

  test('two candidates share a run', async () => {
    const enrolment = { suite: 'tiny', run: 'pair', candidates: 2, only: ['duel'] };
    const play = (name: string) => evaluate(server.url, enrolment, first, { name });
    const [left, right] = await Promise.all([play('left'), play('right')]);
    assert.deepEqual(left, right);
    const parts = left.verdict.parts as { agent: string }[];
    assert.deepEqual(parts.map(({ agent }) => agent).sort(), ['left', 'right']);
  });

  test('withdrawing ends a run', async () => {
    const enrolment = { suite: 'tiny', run: 'given-up' };
    let thinks = () => {};
    const thinking = new Promise<void>((resolve) => (thinks = resolve));
    let aborted = false;
    const agent = ({ signal }: Turn) => {
      signal.addEventListener('abort', () => (aborted = true));
      thinks();
      return new Promise<number>(() => {});
    };
    const playing = evaluate(server.url, enrolment, agent, { name: 'quitter' });
    await thinking;
    const stranger = await Client.connect(server.url, { name: 'stranger' });
    await assert.rejects(stranger.withdraw('given-up'), { code: 'unknown_run' });
    stranger.close();
    const client = await Client.connect(server.url, { name: 'quitter' });
    await assert.rejects(client.withdraw('never-begun'), { code: 'unknown_run' });
    await client.withdraw('given-up');
    const end = await playing;
    assert.deepEqual([end.reason, aborted], ['withdrawn', true]);
    client.close();
    assert.deepEqual(await evaluate(server.url, enrolment, first, { name: 'quitter' }), end);
  });

  test('invalid enrolments are refused', async () => {
    const enrolment = { suite: 'tiny', run: 'refused', only: ['nim'] };
    const refuses = (more: object, error: object, name = 'refused') =>
      assert.rejects(evaluate(server.url, { ...enrolment, ...more }, first, { name }), error);
    await refuses({ suite: 'tinny' }, { code: 'unknown_suite', nearest: 'tiny' });
    await refuses({ suite: undefined }, { code: 'unknown_run' });
    await refuses({ run: 'Not a name' }, { code: 'bad_field', path: 'run' });
    await refuses({ scale: 2 }, { code: 'bad_field', path: 'scale' });
    await refuses({ only: ['chess'] }, { code: 'bad_field', path: 'only' });
    await refuses({ slots: 1_000_000 }, { code: 'limit', path: 'slots' });
    await refuses({}, { code: 'bad_field', path: 'agent.name' }, 'no name');
    assert.equal((await evaluate(server.url, enrolment, first, { name: 'refused' })).reason, 'done');

    const open = { suite: 'tiny', run: 'open' };
    const silent = new AbortController();
    const agent = () => (silent.abort(new Error('enough')), new Promise<number>(() => {}));
    const begun = evaluate(server.url, open, agent, { name: 'owner', signal: silent.signal });
    await assert.rejects(begun, /enough/);
    for (const [path, value] of Object.entries({ scale: 0.5, only: ['nim'], candidates: 2, suite: 'quick' })) {
      await refuses({ ...open, only: undefined, [path]: value }, { code: 'conflict', path }, 'owner');
    }
    await refuses({ ...open, only: undefined }, { code: 'forbidden' }, 'somebody');
    assert.equal((await evaluate(server.url, { run: 'open' }, first, { name: 'owner' })).reason, 'done');
  });
});
