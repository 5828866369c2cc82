// The match plane: whole matches with a callback (section 5 of docs/protocol.md).

import { tensors, type Tensors } from './columns.js';
import { failure, LudexError } from './errors.js';
import type {
  AgentKind, Clock, ErrorMessage, EventMessage, Issue, Join, Json, MatchEnd, MatchStart, MatchView, Move, Notes,
  Refused, Requests, Resync, SeatView, TurnMessage, Welcome,
} from './messages.js';
import type { MatchResult } from './result.js';
import { type ConnectOptions, type Owner, Session } from './session.js';

// Errors of an act that came too late; none of them costs a try.
const LATE = ['stale_turn', 'conflict', 'not_your_turn', 'match_over'];
const GONE = ['unknown_match', 'not_your_seat'];
// How many ended matches are remembered, so that a repeated end of a match is recognised.
const REMEMBERED = 1_000;

/** Why the last attempt at a turn was refused; the state has not changed. */
export interface Refusal {
  code: Refused['code'];
  message: string;
  /** How many tries are left before the policy of the match decides. */
  tries_left: number;
  /** The faults of a proposal. */
  issues: Issue[];
}

/** Everything that an agent gets when it is asked for a move. */
export interface Turn {
  match: string;
  game: string;
  /** Our seat. */
  seat: number;
  /** The number of this turn, counting only this seat's turns, from 0. */
  turn: number;
  /** How many moves were refused in this turn. */
  try: number;
  /** Ascending ids. */
  legal: number[];
  /** The texts of `legal`, with the view `texts`. */
  names?: string[];
  /** The requested views. */
  view: { struct?: unknown; text?: string; tensor?: Tensors; info?: Tensors };
  /** The seat loses on time after this many milliseconds; absent: no limit. */
  budget_ms?: number;
  /** The time left in every seat's bank. */
  bank_ms: number[];
  /** The phase, in games that have several. */
  phase?: string;
  /** Which of the spec's `proposals` a document of this turn must fit; absent: no documents are heard now. */
  schema?: string;
  /** The public facts of the match: `seats`, `clock`, `params`, ... */
  start: MatchStart;
  /** Why the last attempt was refused; absent if that answer was lost with a connection. */
  refusal?: Refusal;
  /** Filled by the agent and sent with the move. */
  notes: Notes;
  /** Aborted if an answer is no longer needed. */
  signal: AbortSignal;
}

export interface PlayOptions extends ConnectOptions {
  /**
   * Called with each turn; returns an action id, a text as people write the move, or a document. After a refusal it is
   * called again. It may be called for several matches at the same time, for one turn of each. An error that it throws
   * ends `play`.
   */
  agent(turn: Turn): Move | Promise<Move>;
  /** Id of the game, or its whole string with parameters; not needed with a ticket. */
  game?: string;
  params?: Json;
  /** Agents of the server for the other seats, one for all or in seat order; absent: other clients from the queue. */
  against?: string | string[];
  /** How many matches [1]; 0: until the server stops for good or `signal` says so. */
  games?: number;
  /** How many matches at a time [1]. */
  slots?: number;
  seat?: number;
  queue?: string;
  rated?: boolean;
  clock?: Clock;
  views?: MatchView[];
  layout?: string;
  ticket?: string;
  /** The name under which ratings are kept [a new one]. */
  name?: string;
  version?: string;
  kind?: AgentKind;
  /**
   * First take over and finish the matches in which `name` still holds seats, from a process that died; they count as
   * games.
   */
  reclaim?: boolean;
  /** Called with every message of the matches and the lobby except turns. */
  on_event?(message: EventMessage): void;
  /** If it is aborted, playing stops and running matches are left. */
  signal?: AbortSignal;
}

/**
 * Plays matches and returns their results, in the order in which they ended. A lost connection is resumed automatically;
 * the agent is never asked twice for the same attempt.
 * @throws LudexError an error of the server, or `connection_lost`; `results` has the finished matches.
 * @throws TypeError the agent returned something that is not a move.
 */
export function play(url: string | string[], options: PlayOptions): Promise<MatchResult[]> {
  return new Promise((resolve, reject) => new Player(url, options, resolve, reject));
}

type Key = [turn: number, attempt: number];
const later = (a: Key, b: Key) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
const same = (a: Key, b: Key) => a[0] === b[0] && a[1] === b[1];

/** The client's knowledge of one running match. */
class Match {
  /** The last `turn` message. */
  frame?: TurnMessage;
  /** The key of the last question to the agent. */
  asked: Key = [-1, 0];
  /** Set while the agent thinks about this question. */
  thinking?: AbortController;
  /** The key of an act without an answer. */
  acting?: Key;

  constructor(public start?: MatchStart) {}

  stop(): void {
    this.thinking?.abort();
    this.thinking = undefined;
  }
}

class Player implements Owner {
  readonly agent;
  readonly reclaim;
  readonly #session: Session;
  readonly #results: MatchResult[] = [];
  readonly #matches = new Map<string, Match>();
  readonly #ended = new Set<string>();
  readonly #games: number;
  #join: 'none' | 'asked' | 'joined' = 'none';
  /** How many matches a join of an earlier connection will still bring. */
  #owed = 0;
  #noMore = false;
  /** Running matches that the new session does not hold. */
  #doubtful = new Set<string>();
  #over = false;

  constructor(
    url: string | string[],
    readonly options: PlayOptions,
    readonly resolve: (results: MatchResult[]) => void,
    readonly reject: (error: unknown) => void,
  ) {
    const { name = `typescript-${Math.random().toString(36).slice(2, 10)}`, version, kind = 'bot', signal } = options;
    this.agent = { name, version, kind };
    this.reclaim = options.reclaim;
    this.#games = options.games ?? 1;
    if (options.game === undefined && options.ticket === undefined) {
      throw new LudexError(failure('bad_field', 'play needs a game or a ticket', { fault: 'client', path: 'game' }));
    }
    signal?.throwIfAborted();
    signal?.addEventListener('abort', this.#aborted);
    this.#session = new Session(url, options, this);
    this.#session.open().catch((error) => this.#fail(error));
  }

  readonly #aborted = () => this.#fail(this.options.signal?.reason);

  #fail(error: unknown): void {
    if (error instanceof LudexError) error.results = this.#results;
    this.#leave(() => this.reject(error));
  }

  #leave(settle: () => void): void {
    if (this.#over) return;
    this.#over = true;
    this.options.signal?.removeEventListener('abort', this.#aborted);
    for (const match of this.#matches.values()) match.stop();
    this.#session.close();
    settle();
  }

  /** Does what is due: joins, or ends. */
  #enter(): void {
    if (this.#over) return;
    const { length } = this.#results;
    if ((this.#noMore && this.#matches.size === 0) || (this.#games > 0 && length >= this.#games)) {
      return this.#leave(() => this.resolve(this.#results));
    }
    if (this.#join !== 'none' || this.#noMore) return;
    const count = this.#games && this.#games - length - this.#matches.size - this.#owed;
    if (this.#games && count <= 0) return;
    const { game, params, queue, against, seat, slots = 1, views, layout, rated, clock, ticket } = this.options;
    const join: Join = { game, params, queue, seat, slots, count, views, layout, rated, clock, ticket };
    if (against !== undefined) join.against = [against].flat();
    this.#join = 'asked';
    this.#session.post('join', join, (reply) => {
      if (reply.type !== 'error') {
        this.#join = 'joined';
        return;
      }
      if (this.#join === 'asked') this.#join = 'none';
      if (reply.code === 'session_lost') this.#enter();
      else if (reply.retry) setTimeout(() => this.#enter(), reply.after_ms ?? 1_000);
      else this.#fail(new LudexError(reply));
    });
  }

  // ---- sessions

  failed(error: LudexError): void {
    this.#fail(error);
  }

  /** Takes over the matches of a new session; a resync tells the whole of each. */
  welcomed(welcome: Welcome): void {
    if (welcome.resumed) return;
    const held = new Set((welcome.matches ?? []).map(({ match }) => match));
    const doubtful = new Set([...this.#matches.keys()].filter((match) => !held.has(match)));
    for (const match of held) {
      if (!this.#ended.has(match) && !this.#matches.has(match)) this.#matches.set(match, new Match());
    }
    const joins = welcome.joins ?? [];
    this.#owed = joins.reduce((sum, { left }) => sum + (left ?? 0), 0);
    // A join without an answer fails with session_lost after this.
    if (this.#join === 'joined') this.#join = 'none';
    if (joins.length > 0 && this.#games === 0) this.#join = 'joined';
    this.#doubtful = doubtful;
    if (doubtful.size > 0) {
      // If the server has kept the end of such a match, it sends it before the answer to the next request.
      this.#session.post('ping', {}, (reply) => {
        if (reply.type !== 'error') for (const match of doubtful) this.#finish(match, { reason: 'unknown_match' });
      });
    }
    this.#enter();
  }

  // ---- events

  event(message: EventMessage): void {
    if (this.#over) return;
    try {
      this.#event(message);
    } catch (error) {
      // An error that `on_event` throws ends `play`, like one of the agent.
      this.#fail(error);
    }
  }

  #event(message: EventMessage): void {
    if (message.type === 'queued' || message.type === 'draining') {
      // If the server will not resume, no matches follow those that still run.
      if (message.type === 'draining') this.#noMore = message.resume === false;
      this.options.on_event?.(message);
      return this.#enter();
    }
    const { match, seq, type } = message;
    this.#doubtful.delete(match);
    if (this.#ended.has(match)) return;
    if (type === 'resync') return this.#resync(message);
    const { seen } = this.#session;
    const fresh = !(seq <= (seen[match] ?? -1));
    if (fresh) seen[match] = seq;
    // A turn without an answer may come again with its old number.
    if (type === 'turn') return this.#turn(message);
    if (!fresh) return;
    this.options.on_event?.(message);
    if (type === 'match_start') this.#matches.set(match, new Match(message));
    if (type === 'match_end') this.#finish(match, message);
  }

  /** Replaces the knowledge of a match, but remembers that the agent thinks about its turn or has answered it. */
  #resync(message: Resync): void {
    const { match, seq, start, turn, end } = message;
    this.#session.seen[match] = seq;
    this.options.on_event?.(message);
    const state = this.#matches.get(match) ?? new Match();
    this.#matches.set(match, state);
    state.start = start;
    const key: Key | undefined = turn && [turn.turn, turn.try ?? 0];
    const busy = key && ((state.thinking && same(key, state.asked)) || (state.acting && same(key, state.acting)));
    if (!busy) {
      state.stop();
      state.asked = [-1, 0];
    }
    if (end) this.#finish(match, end);
    else if (turn) this.#turn(turn);
  }

  #turn(frame: TurnMessage, refusal?: Refusal): void {
    const state = this.#matches.get(frame.match);
    if (!state?.start) return;
    state.frame = frame;
    const key: Key = [frame.turn, frame.try ?? 0];
    if (!later(key, state.asked)) return;
    state.stop();
    state.asked = key;
    state.thinking = new AbortController();
    void this.#ask(state, state.thinking, {
      match: frame.match,
      game: state.start.game,
      seat: state.start.seat ?? 0,
      turn: key[0],
      try: key[1],
      legal: ids(frame.legal ?? []),
      names: frame.names,
      view: view(frame.view ?? {}),
      budget_ms: frame.budget_ms,
      bank_ms: frame.bank_ms ?? [],
      phase: frame.phase,
      schema: frame.schema,
      start: state.start,
      refusal,
      notes: {},
      signal: state.thinking.signal,
    });
  }

  async #ask(state: Match, thinking: AbortController, turn: Turn): Promise<void> {
    try {
      const move = said(await this.options.agent(turn));
      if (state.thinking !== thinking) return;
      state.thinking = undefined;
      const notes = Object.keys(turn.notes).length > 0 ? turn.notes : undefined;
      this.#act({ match: turn.match, turn: turn.turn, try: turn.try, ...move, notes });
    } catch (error) {
      if (state.thinking === thinking) this.#fail(error);
    }
  }

  // ---- acts

  #act(act: Requests['act'][0]): void {
    const state = this.#matches.get(act.match);
    if (!state || this.#over) return;
    const key: Key = [act.turn, act.try ?? 0];
    state.acting = key;
    const answered = (reply: Requests['act'][1] | ErrorMessage) => {
      if (this.#over || this.#matches.get(act.match) !== state) return;
      if (reply.type === 'error' && reply.retry) {
        setTimeout(() => this.#act(act), reply.after_ms ?? 100);
        return;
      }
      if (state.acting && same(state.acting, key)) state.acting = undefined;
      if (reply.type === 'refused') this.#refused(state, reply);
      if (reply.type !== 'error' || LATE.includes(reply.code)) return;
      if (GONE.includes(reply.code)) this.#finish(act.match, { reason: reply.code as MatchResult['reason'] });
      else this.#fail(new LudexError(reply));
    };
    // Not bound to the session: the server recognises a repeated act by (match, turn, try).
    this.#session.post('act', act, answered, false);
  }

  #refused(state: Match, { turn, try: attempt, code, message, tries_left, legal, issues }: Refused): void {
    const { frame } = state;
    if (!frame || frame.turn !== turn || tries_left === 0) return;
    const names = frame.names && new Map(ids(frame.legal ?? []).map((id, i) => [id, frame.names![i]!]));
    const again: TurnMessage = { ...frame, try: attempt };
    if (legal) {
      again.legal = legal;
      if (names) again.names = ids(legal).map((id) => names.get(id) ?? `${id}`);
    }
    this.#turn(again, { code, message, tries_left, issues: issues ?? [] });
  }

  #finish(match: string, end: Pick<MatchResult, 'reason'> & Partial<Omit<MatchEnd, 'reason'>>): void {
    const state = this.#matches.get(match);
    this.#doubtful.delete(match);
    if (!state) return;
    state.stop();
    this.#matches.delete(match);
    this.#results.push({
      match,
      game: state.start?.game ?? '',
      seat: state.start?.seat ?? 0,
      seats: state.start?.seats.map(({ name }) => name) ?? [],
      returns: end.returns ?? [],
      outcome: end.outcome ?? [],
      reason: end.reason,
      at_fault: end.at_fault,
      rated: end.rated ?? false,
      record: end.record,
    });
    this.#ended.add(match);
    if (this.#ended.size > REMEMBERED) {
      const [oldest] = this.#ended as Iterable<string> as [string];
      this.#ended.delete(oldest);
      delete this.#session.seen[oldest];
    }
    this.#enter();
  }
}

/** Returns legal ids one by one; a game may list them as inclusive ranges. */
function ids(legal: (number | [number, number])[]): number[] {
  return legal.flatMap((entry) => {
    if (typeof entry === 'number') return [entry];
    const [low, high] = entry;
    return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  });
}

function view({ tensor, info, ...rest }: SeatView): Turn['view'] {
  const seen: Turn['view'] = rest;
  if (tensor != null) seen.tensor = tensors(tensor);
  if (info != null) seen.info = tensors(info);
  return seen;
}

function said(move: Move): { action: number } | { text: string } | { proposal: Json } {
  if (typeof move === 'number' && Number.isSafeInteger(move)) return { action: move };
  if (typeof move === 'string') return { text: move };
  if (typeof move === 'object' && move !== null) return { proposal: move };
  throw new TypeError(`the agent returned ${move}, but a move is an action id, a text or a document`);
}
