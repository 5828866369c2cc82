// A bot that plays random legal moves, written from docs/protocol.md without a client library.
//
//     node bot.mjs [URL]
//
// It uses JSON, resumes after a lost connection, and exits when its matches are finished.
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
let results = 0;
let joining = null; // id of the pending join
let joined = false;
let isDraining = false; // the server shuts down: only finish the current matches
const unanswered = new Map(); // id -> encoded request
const acts = new Map(); // id of an act -> its key and fields
const matches = new Map(); // id -> {turn: last turn message, acted: key of the last act}
const ended = new Set();
const seen = {}; // match -> last seq

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

// A key is turn and try. The server accepts one act per key, and the bot sends one.
const later = (a, b) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);

function act(match, turn) {
  const state = matches.get(match);
  const key = [turn.turn, turn.try ?? 0];
  if (!state || !later(key, state.acted)) return;
  state.acted = key;
  const pick = turn.legal[Math.floor(Math.random() * turn.legal.length)];
  // Games with thousands of ids send inclusive ranges.
  const [low, high] = Array.isArray(pick) ? pick : [pick, pick];
  send(match, key, low + Math.floor(Math.random() * (high - low + 1)));
}

function send(match, key, action) {
  acts.set(request('act', { match, turn: key[0], try: key[1], action }), { match, key, action });
}

// ---- messages

function receive(message) {
  const { type, match } = message;
  if ('re' in message) return reply(message);
  if (type === 'ping') return socket.send(JSON.stringify({ type: 'pong', nonce: message.nonce }));
  if (type === 'error' && !message.retry) fail(`${message.code}: ${message.message}`);
  if (type === 'draining') drain(message);
  if (!match || ended.has(match)) return;
  if (type === 'resync') return resync(message);
  const fresh = !(message.seq <= seen[match]);
  if (fresh) seen[match] = message.seq;
  if (type === 'turn') {
    // After a resume, a turn may be sent again; its key shows whether it has been answered.
    const state = matches.get(match);
    if (state) state.turn = message;
    act(match, message);
  } else if (fresh && type === 'match_start') {
    matches.set(match, { turn: null, acted: [-1, 0] });
  } else if (fresh && type === 'match_end') {
    finish(match, message);
  }
}

function resync({ match, seq, turn, end }) {
  // Replaces the state of the match. A pending act keeps its key.
  seen[match] = seq;
  const same = (other) => other.match === match && `${other.key}` === `${[turn?.turn, turn?.try ?? 0]}`;
  const sent = [...acts.values()].find(same);
  matches.set(match, { turn, acted: sent?.key ?? [-1, 0] });
  if (end) finish(match, end);
  else if (turn) act(match, turn);
}

function finish(match, end) {
  if (!matches.delete(match)) return;
  ended.add(match);
  results += 1;
  console.log(`${match}: ${end.reason} ${JSON.stringify(end.returns ?? [])}`);
  if (results >= games || (isDraining && matches.size === 0)) quit(0);
}

function drain({ resume }) {
  isDraining = resume === false;
  if (isDraining && matches.size === 0) quit(0);
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
    const { turn } = matches.get(sent.match) ?? {};
    if (message.tries_left > 0 && turn?.turn === message.turn) {
      act(sent.match, { ...turn, try: message.try, legal: message.legal ?? turn.legal });
    }
  } else if (sent && message.type === 'error') {
    // The act was late or repeated, which has no effect. A match that no longer exists counts as finished.
    const { code } = message;
    if (SEAT_LOST_CODES.includes(code)) finish(sent.match, { reason: code });
    else if (message.retry) setTimeout(send, wait, sent.match, sent.key, sent.action);
    else if (!LATE_CODES.includes(code)) fail(`${code}: ${message.message}`);
  }
}

function enter() {
  if (joined || joining !== null || isDraining) return;
  const count = games - results - matches.size;
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
      hello.resume = { session: session.session, key: session.key, seen };
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

function welcome(message) {
  session = { session: message.session, key: message.key, open: true };
  lostAt = null;
  if (!message.resumed) {
    // Only acts remain valid in a new session, because they are identified by their key.
    for (const id of unanswered.keys()) if (!acts.has(id)) unanswered.delete(id);
    joining = null;
    const resumed = new Set((message.matches ?? []).map((m) => m.match));
    for (const match of matches.keys()) if (!resumed.has(match)) finish(match, { reason: 'lost' });
    for (const match of resumed) {
      if (!ended.has(match) && !matches.has(match)) matches.set(match, { turn: null, acted: [-1, 0] });
    }
    const left = (message.joins ?? []).reduce((sum, entry) => sum + (entry.left ?? 0), 0);
    joined = results + matches.size + left >= games;
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
