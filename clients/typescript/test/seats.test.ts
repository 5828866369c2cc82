// Several seats of one match, and the counting of matches, against a scripted server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';

import { type WebSocket, WebSocketServer } from 'ws';

import { play, type Turn } from '../src/index.js';
import { SeenSeqs } from '../src/session.js';

type Frame = Record<string, any>;

/** Turns of each seat in a match. */
const TURNS = 2;
const PLAYERS = [{ name: 'a', kind: 'bot' }, { name: 'b', kind: 'bot' }];

interface Match {
  match: string;
  join: string;
  /** Messages of each seat. */
  logs: Record<number, Frame[]>;
  moves: number;
}

/** A server whose clients have both seats of each match. The seats move in turn. */
class FakeServer {
  readonly received: Frame[] = [];
  /** Messages to send after the next `welcome`. */
  after: Frame[] = [];
  /** Joins to list in the next `welcome`. */
  joins: Frame[] = [];
  matches: Match[] = [];
  /** Number of remaining matches of the join. */
  left = 0;
  join = '';
  #count = 0;
  #socket?: WebSocket;
  readonly #listener = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'ludex.v1.json' });

  static async start(): Promise<FakeServer> {
    const server = new FakeServer();
    server.#listener.on('connection', (socket) => {
      server.#socket = socket;
      socket.on('message', (data) => server.#receive(JSON.parse(data.toString()) as Frame));
    });
    await once(server.#listener, 'listening');
    return server;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  of(type: string): Frame[] {
    return this.received.filter((frame) => frame.type === type);
  }

  /** Cuts the connection, as in a network failure. */
  cut(): void {
    this.#socket!.terminate();
  }

  stop(): void {
    this.#socket?.terminate();
    this.#listener.close();
  }

  #send(frame: Frame): void {
    this.#socket!.send(JSON.stringify(frame));
  }

  #receive(frame: Frame): void {
    this.received.push(frame);
    if (frame.type === 'hello') this.#hello(frame);
    if (frame.type === 'ping') this.#send({ type: 'pong', re: frame.id, now_ms: 1 });
    if (frame.type === 'join') {
      this.join = `j_${++this.#count}`;
      this.left = frame.count;
      this.#send({ type: 'joined', re: frame.id, join: this.join });
      this.#next();
    }
    if (frame.type === 'act') this.#act(frame);
  }

  #hello({ id, resume }: Frame): void {
    const running = this.matches.filter(({ moves }) => moves < 2 * TURNS);
    const seats = running.flatMap(({ match, logs }) => [0, 1].map((seat) => ({ match, seat, seq: logs[seat]!.length - 1 })));
    const welcome = { protocol: 1, server: 'fake', session: 's', key: 'k', resumed: !!resume, limits: { grace_ms: 5_000 } };
    this.#send({ type: 'welcome', re: id, ...welcome, matches: resume ? seats : [], joins: this.joins });
    for (const frame of this.after.splice(0)) this.#send(frame);
    if (!resume) return;
    for (const { match, logs } of this.matches) {
      for (const seat of [0, 1]) {
        const seen = resume.seen[match]?.[seat] ?? -1;
        for (const frame of logs[seat]!.slice(seen + 1)) this.#send(frame);
      }
    }
  }

  #log(match: Match, seat: number, frame: Frame): void {
    const log = match.logs[seat]!;
    log.push({ seq: log.length, match: match.match, ...frame });
    this.#send(log.at(-1)!);
  }

  #next(): void {
    if (this.left-- <= 0) return;
    const match: Match = { match: `m_${++this.#count}`, join: this.join, logs: { 0: [], 1: [] }, moves: 0 };
    this.matches.push(match);
    for (const seat of [0, 1]) this.#log(match, seat, start(this.join, seat));
    this.#turn(match);
  }

  #turn(match: Match): void {
    const seat = match.moves % 2;
    const view = { struct: { moves: match.moves } };
    this.#log(match, seat, { type: 'turn', seat, turn: Math.floor(match.moves / 2), try: 0, bank_ms: [], legal: [0, 1], view });
  }

  #act({ id, match: name, seat, turn, action }: Frame): void {
    const match = this.matches.find((one) => one.match === name)!;
    // A repeated act has the reply of the first one.
    const repeated = turn < Math.floor((match.moves + 1 - seat) / 2);
    if (!repeated) assert.deepEqual([seat, turn], [match.moves % 2, Math.floor(match.moves / 2)], 'seat and turn of the act');
    this.#send({ type: 'accepted', re: id, match: name, seat, turn, action, text: 'x', bank_ms: 0 });
    if (repeated) return;
    match.moves++;
    for (const viewer of [0, 1]) this.#log(match, viewer, { type: 'event', viewer, kind: 'move', seat, action, text: 'x', ms: 0 });
    if (match.moves < 2 * TURNS) return this.#turn(match);
    for (const viewer of [0, 1]) this.#log(match, viewer, end(viewer));
    this.#next();
  }
}

function start(join: string, seat: number): Frame {
  const clock = { move_ms: 10_000 };
  const illegal = { policy: 'forfeit', tries: 3 };
  const game = { game: 'race', params: {}, rules: 1, hash: '00' };
  return { type: 'match_start', join, ...game, seat, seats: PLAYERS, rated: false, clock, illegal, skip_forced: false };
}

const end = (seat: number): Frame =>
  ({ type: 'match_end', seat, returns: [1, -1], outcome: ['win', 'loss'], reason: 'finished', rated: false, record: '/' });

const options = { game: 'race', against: 'random', encoding: 'json' as const, name: 'me' };

test('each seat of a match has its own turns', { timeout: 10_000 }, async () => {
  const server = await FakeServer.start();
  const turns: string[] = [];
  const viewers = new Set<string>();
  const results = await play(server.url, {
    ...options,
    agent: async ({ seat, turn, start }: Turn) => {
      assert.equal(start.seat, seat);
      turns.push(`${seat} ${turn}`);
      await null;
      return 0;
    },
    on_event: (event) => event.type === 'event' && event.kind === 'move' && viewers.add(`${event.viewer} ${event.seat}`),
  });
  server.stop();
  assert.deepEqual(turns, ['0 0', '1 0', '0 1', '1 1']);
  assert.deepEqual([...viewers].sort(), ['0 0', '0 1', '1 0', '1 1']);
  assert.deepEqual(results.map(({ match, seat }) => [match, seat]), [['m_2', 0], ['m_2', 1]]);
  assert(server.of('act').every(({ seat }, i) => seat === i % 2), 'acts name the seat');
});

test('games are matches, not seats', { timeout: 10_000 }, async () => {
  const server = await FakeServer.start();
  const results = await play(server.url, { ...options, games: 3, agent: () => 0 });
  server.stop();
  assert.deepEqual(server.of('join').map(({ count }) => count), [3]);
  assert.deepEqual([results.length, new Set(results.map(({ match }) => match)).size], [6, 3]);
});

test('resume has the last seq of each seat', { timeout: 10_000 }, async () => {
  const seen = new SeenSeqs();
  assert.equal(seen.get({ match: 'm_1', seat: 3 }), -1);
  seen.set({ match: 'm_1', seat: 3 }, 5);
  seen.set({ match: 'm_2', seat: 1 }, 4);
  seen.set({ match: 'm_2', seat: 2 }, 7);
  assert.deepEqual(seen.frames(), { m_1: 5, m_2: { 1: 4, 2: 7 } });
  seen.delete({ match: 'm_1', seat: 3 });
  assert.deepEqual(Object.keys(seen.frames()), ['m_2']);

  const server = await FakeServer.start();
  const turns: string[] = [];
  const agent = ({ seat, turn }: Turn) => {
    turns.push(`${seat} ${turn}`);
    if (turns.length === 2) server.cut();
    return 0;
  };
  const results = await play(server.url, { ...options, agent });
  server.stop();
  // Seat 0 has its start, its turn and a move; seat 1 its start, the move and its turn.
  assert.deepEqual(server.of('hello')[1]!.resume.seen, { m_2: { 0: 2, 1: 2 } });
  assert.deepEqual([turns.length, new Set(turns).size, results.length], [4, 4, 2]);
});

test('matches of earlier joins do not count', { timeout: 10_000 }, async () => {
  const server = await FakeServer.start();
  const old = (join: string, match: string): Frame => {
    const of = { seq: 9, match };
    return { type: 'resync', ...of, seat: 0, start: { ...of, seq: 0, ...start(join, 0) }, end: { ...of, ...end(0) } };
  };
  server.after = [old('j_old', 'm_old')];
  const results = await play(server.url, { ...options, reclaim: true, games: 2, agent: () => 0 });
  assert.deepEqual(server.of('join').map(({ count }) => count), [2]);
  assert.deepEqual([...new Set(results.map(({ match }) => match))], ['m_2', 'm_3']);

  // A join in `welcome` continues, so that its matches count.
  server.after = [old('j_going', 'm_going')];
  server.joins = [{ join: 'j_going', game: 'race' }];
  server.received.length = 0;
  const both = await play(server.url, { ...options, reclaim: true, games: 2, agent: () => 0 });
  server.stop();
  assert.deepEqual(both.map(({ match }) => match).slice(0, 1), ['m_going']);
  assert.equal(new Set(both.map(({ match }) => match)).size, 2);
});
