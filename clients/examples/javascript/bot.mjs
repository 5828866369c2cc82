// A bot that plays random legal moves, written from docs/protocol.md without a client library.
//
//     node bot.mjs [URL]
//
// It uses JSON, resumes after a lost connection, and exits when its matches are finished.
// It may have several seats of a match; each seat has its own turns and message numbers.
// Environment: LUDEX_URL, LUDEX_TOKEN, LUDEX_AGENT (its name), LUDEX_GAME, LUDEX_GAMES [1],
// LUDEX_AGAINST (an agent of the server, or "queue" for other clients in the queue).

import { isMainThread, Worker } from 'node:worker_threads';

const { env } = process;
const url = process.argv[2] ?? env.LUDEX_URL ?? 'ws://127.0.0.1:7878';
const games = Number(env.LUDEX_GAMES ?? 1);
const against = env.LUDEX_AGAINST ?? 'random';
const patienceMs = 60_000;
const LATE_CODES = ['stale_turn', 'conflict', 'not_your_turn', 'match_over'];
const SEAT_LOST_CODES = ['unknown_match', 'not_your_seat'];

let session = null; // {session, key} of the last welcome, for resuming
let socket = null;
let lostAt = null; // time of the connection loss; null while connected
let nextId = 2; // never reused, even on a new connection; hello uses 1
let joining = null; // id of the pending join
let joined = false;
let isDraining = false; // the server shuts down: only finish the current matches
const unanswered = new Map(); // id -> encoded request
const acts = new Map(); // id of an act -> its seat, key and action
const seats = new Map(); // name of a seat -> {match, seat, turn: last turn message, acted: key of the last act}
const ended = new Set(); // names of seats
const endedMatches = new Set();
const seen = new Map(); // name of a seat -> {match, seat, seq: last seq}

const nameOf = (match, seat) => `${match} ${seat}`;

// ---- requests

function request(type, fields) {
  const id = nextId++;
  const text = JSON.stringify({ type, id, ...fields });
  unanswered.set(id, text);
  if (session?.open) socket.send(text);
  return id;
}

function join(count) {
  const opponents = against === 'queue' ? {} : { against: [against] };
  joining = request('join', { game: env.LUDEX_GAME ?? 'tic_tac_toe', count, ...opponents });
}

/** Number of matches of which all seats have ended. */
function finished() {
  const running = new Set([...seats.values()].map(({ match }) => match));
  return [...endedMatches].filter((match) => !running.has(match)).length;
}

/** Number of matches that have ended or are running. */
const taken = () => new Set([...endedMatches, ...[...seats.values()].map(({ match }) => match)]).size;

// A key is turn and try. The server accepts one act of a seat per key, and the bot sends one.
const later = (a, b) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);

function act(name, turn) {
  const state = seats.get(name);
  const key = [turn.turn, turn.try ?? 0];
  if (!state || !later(key, state.acted)) return;
  state.acted = key;
  const pick = turn.legal[Math.floor(Math.random() * turn.legal.length)];
  // Games with thousands of ids send inclusive ranges.
  const [low, high] = Array.isArray(pick) ? pick : [pick, pick];
  send(name, key, low + Math.floor(Math.random() * (high - low + 1)));
}

function send(name, key, action) {
  if (!seats.has(name)) return;
  const { match, seat } = seats.get(name);
  acts.set(request('act', { match, seat, turn: key[0], try: key[1], action }), { name, key, action });
}

// ---- messages

function receive(message) {
  const { type, match } = message;
  if ('re' in message) return reply(message);
  if (type === 'ping') return socket.send(JSON.stringify({ type: 'pong', nonce: message.nonce }));
  if (type === 'error' && !message.retry) fail(`${message.code}: ${message.message}`);
  if (type === 'draining') drain(message);
  // The `seat` of an event is that of the player, not of the viewer.
  const seat = type === 'event' ? message.viewer : message.seat;
  const name = nameOf(match, seat);
  if (!match || ended.has(name)) return;
  if (type === 'resync') return resync(name, message);
  const fresh = !(message.seq <= seen.get(name)?.seq);
  if (fresh) seen.set(name, { match, seat, seq: message.seq });
  if (type === 'turn') {
    // After a resume, a turn may be sent again; its key shows whether it has been answered.
    const state = seats.get(name);
    if (state) state.turn = message;
    act(name, message);
  } else if (fresh && type === 'match_start') {
    seats.set(name, { match, seat, turn: null, acted: [-1, 0] });
  } else if (fresh && type === 'match_end') {
    finish(name, message);
  }
}

function resync(name, { match, seat, seq, turn, end }) {
  // Replaces the state of the seat. A pending act keeps its key.
  seen.set(name, { match, seat, seq });
  const same = (other) => other.name === name && `${other.key}` === `${[turn?.turn, turn?.try ?? 0]}`;
  const sent = [...acts.values()].find(same);
  seats.set(name, { match, seat, turn, acted: sent?.key ?? [-1, 0] });
  if (end) finish(name, end);
  else if (turn) act(name, turn);
}

function finish(name, end) {
  const state = seats.get(name);
  if (!seats.delete(name)) return;
  ended.add(name);
  seen.delete(name);
  endedMatches.add(state.match);
  console.log(`${state.match}: seat ${state.seat}: ${end.reason} ${JSON.stringify(end.returns ?? [])}`);
  if (finished() >= games || (isDraining && seats.size === 0)) quit(0);
}

function drain({ resume }) {
  isDraining = resume === false;
  if (isDraining && seats.size === 0) quit(0);
}

function reply(message) {
  const id = message.re;
  if (!unanswered.delete(id)) return;
  const sent = acts.get(id);
  acts.delete(id);
  const wait = message.after_ms ?? 200;
  if (id === joining) {
    joining = null;
    if (message.type !== 'error') joined = true;
    else if (message.retry) setTimeout(enter, wait);
    else fail(`${message.code}: ${message.message}`);
  } else if (sent && message.type === 'refused') {
    const { turn } = seats.get(sent.name) ?? {};
    if (message.tries_left > 0 && turn?.turn === message.turn) {
      act(sent.name, { ...turn, try: message.try, legal: message.legal ?? turn.legal });
    }
  } else if (sent && message.type === 'error') {
    // The act was late or repeated, which has no effect. A match that no longer exists counts as finished.
    const { code } = message;
    if (SEAT_LOST_CODES.includes(code)) finish(sent.name, { reason: code });
    else if (message.retry) setTimeout(send, wait, sent.name, sent.key, sent.action);
    else if (!LATE_CODES.includes(code)) fail(`${code}: ${message.message}`);
  }
}

function enter() {
  if (joined || joining !== null || isDraining) return;
  const count = games - taken();
  if (count > 0) join(count);
  else joined = true;
}

// ---- connections

function connect() {
  socket = new WebSocket(url, 'ludex.v1.json');
  const mine = socket;
  let over = false;
  const lost = (event) => {
    if (over || mine !== socket) return;
    over = true;
    if (session) session.open = false;
    if ([4000, 4001, 4002].includes(event.code)) fail(`closed: ${event.code} ${event.reason}`);
    if (event.code === 4005) session = null;
    lostAt ??= Date.now();
    if (Date.now() - lostAt > patienceMs) fail(`no response from ${url}`);
    setTimeout(connect, event.code === 4004 ? 2_000 : 100);
  };
  mine.onclose = lost;
  mine.onerror = lost;
  mine.onopen = () => {
    const hello = { type: 'hello', id: 1, protocol: [1], client: 'example-js/1' };
    hello.agent = { name: env.LUDEX_AGENT ?? 'js-bot', kind: 'bot' };
    if (env.LUDEX_TOKEN) hello.token = env.LUDEX_TOKEN;
    if (session) {
      hello.resume = { session: session.session, key: session.key, seen: seenFrames() };
      hello.reclaim = true; // if the session no longer exists, the name reclaims the seats
    }
    mine.send(JSON.stringify(hello));
  };
  mine.onmessage = ({ data }) => {
    if (mine !== socket || over) return;
    const message = JSON.parse(data);
    if (message.type === 'welcome') welcome(message);
    else if (message.type === 'error' && message.re === 1) {
      if (!message.retry) fail(`${message.code}: ${message.message}`);
      mine.close();
    } else if (session?.open) receive(message);
  };
}

/** Returns the last seq of each match, or those of its seats if there are several. */
function seenFrames() {
  const frames = {};
  for (const { match, seat, seq } of seen.values()) (frames[match] ??= {})[seat] = seq;
  for (const [match, of] of Object.entries(frames)) {
    if (Object.keys(of).length === 1) [frames[match]] = Object.values(of);
  }
  return frames;
}

function welcome(message) {
  session = { session: message.session, key: message.key, open: true };
  lostAt = null;
  if (!message.resumed) {
    // Only acts remain valid in a new session, because they are identified by their key.
    for (const id of unanswered.keys()) if (!acts.has(id)) unanswered.delete(id);
    joining = null;
    const resumed = new Map((message.matches ?? []).map(({ match, seat }) => [nameOf(match, seat), { match, seat }]));
    for (const name of seats.keys()) if (!resumed.has(name)) finish(name, { reason: 'lost' });
    for (const [name, of] of resumed) {
      if (!ended.has(name) && !seats.has(name)) seats.set(name, { ...of, turn: null, acted: [-1, 0] });
    }
    const left = (message.joins ?? []).reduce((sum, entry) => sum + (entry.left ?? 0), 0);
    joined = taken() + left >= games;
  }
  for (const text of unanswered.values()) socket.send(text);
  enter();
}

function fail(reason) {
  console.error(reason);
  quit(1);
}

function quit(code) {
  socket.onclose = null;
  socket.onerror = null;
  socket.close();
  process.exit(code);
}

// ---- start

if (typeof WebSocket !== 'undefined') {
  connect();
} else if (isMainThread) {
  // Node 20 requires a flag for the global WebSocket, which a worker thread can set.
  const execArgv = ['--experimental-websocket', '--no-warnings'];
  const options = { argv: process.argv.slice(2), execArgv };
  new Worker(new URL(import.meta.url), options).on('exit', (code) => process.exit(code));
} else {
  console.error('expected Node 20.10 or newer');
  process.exit(1);
}
