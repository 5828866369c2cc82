// The match plane: whole matches with a callback (section 5 of docs/protocol.md).

import { tensors, type Tensors } from './columns.js';
import { failure, LudexError } from './errors.js';
import type {
  AgentKind, Clock, ErrorMessage, EventMessage, Issue, Join, Json, MatchEnd, MatchStart, MatchView, Move, Notes,
  Outcome, Reason, Refused, Requests, Resync, SeatView, TurnMessage, Welcome,
} from './messages.js';
import { type ConnectOptions, type Owner, Session } from './session.js';

// Errors of an act that only say that its time is over; none of them costs a try.
const LATE = ['stale_turn', 'conflict', 'not_your_turn', 'match_over'];
const GONE = ['unknown_match', 'not_your_seat'];
// How many ended matches are remembered, so that a late repetition of their end is recognised.
const REMEMBERED = 1_000;

/** Why the last attempt at a turn was refused; the state is as it was. */
export interface Refusal {
  code: Refused['code'];
  message: string;
  /** Refusals that are left before the match's policy decides. */
  tries_left: number;
  /** What is wrong with a proposal. */
  issues: Issue[];
}

/** What an agent knows when it is asked for a move. */
export interface Turn {
  match: string;
  game: string;
  /** Ours. */
  seat: number;
  /** This seat's own turns so far. */
  turn: number;
  /** Refusals within this turn. */
  try: number;
  /** Ascending ids. */
  legal: number[];
  /** The text of each, with the view `texts`. */
  names?: string[];
  /** The views that were asked for. */
  view: { struct?: unknown; text?: string; tensor?: Tensors; info?: Tensors };
  /** After so many milliseconds the seat has lost on time; absent: no limit. */
  budget_ms?: number;
  /** What is left on every seat's bank. */
  bank_ms: number[];
  /** The kind of proposal that is wanted, in games that have them. */
  phase?: string;
  /** The match's public record: `seats`, `clock`, `params`, ... */
  start: MatchStart;
  /** Why the last attempt was refused; absent when that answer was lost with a connection. */
  refusal?: Refusal;
  /** For the agent to fill: sent with the move. */
  notes: Notes;
  /** Aborted when an answer is no longer wanted. */
  signal: AbortSignal;
}

/** How a match ended. */
export interface MatchResult {
  match: string;
  game: string;
  /** Ours. */
  seat: number;
  /** Names of the agents. */
  seats: string[];
  /** For each seat; empty when the server no longer knew the match. */
  returns: number[];
  outcome: Outcome[];
  reason: Reason | 'unknown_match' | 'not_your_seat';
  /** The seat that forfeited, if one did. */
  at_fault?: number;
  rated: boolean;
  /** Path of the episode over HTTP. */
  record?: string;
}

export interface PlayOptions extends ConnectOptions {
  /**
   * Called with each turn; returns an action id, a text as people write the move, or a document. After a refusal it is
   * called again. Matches are asked about side by side, each one turn at a time. What it throws ends `play`.
   */
  agent(turn: Turn): Move | Promise<Move>;
  /** Id of the game, or its whole string with parameters; not needed with a ticket. */
  game?: string;
  params?: Json;
  /** Agents of the server for the other seats, one for all or in seat order; absent: whoever waits in the queue. */
  against?: string | string[];
  /** How many matches [1]; 0: until the server stops for good or `signal` says so. */
  games?: number;
  /** How many at a time [1]. */
  slots?: number;
  seat?: number;
  queue?: string;
  rated?: boolean;
  clock?: Clock;
  views?: MatchView[];
  layout?: string;
  ticket?: string;
  /** What ratings are kept under [a fresh one]. */
  name?: string;
  version?: string;
  kind?: AgentKind;
  /** First take over, and finish, the seats that `name` still holds of a process that died; they count as games. */
  reclaim?: boolean;
  /** Called with every message of the matches and the lobby but turns. */
  on_event?(message: EventMessage): void;
  /** Stops playing, when aborted; matches that run are left. */
  signal?: AbortSignal;
}

/**
 * Plays matches and returns their results, in the order in which they ended. A lost connection is resumed inside; the
 * agent is never asked twice for the same attempt.
 * @throws LudexError what the server refused, or `connection_lost`; `results` has the matches that were over.
 * @throws TypeError the agent returned no move.
 */
export function play(url: string | string[], options: PlayOptions): Promise<MatchResult[]> {
  return new Promise((resolve, reject) => new Player(url, options, resolve, reject));
}

type Key = [turn: number, attempt: number];
const later = (a: Key, b: Key) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
const same = (a: Key, b: Key) => a[0] === b[0] && a[1] === b[1];

/** What is known of one running match. */
class Match {
  /** The last `turn` message. */
  frame?: TurnMessage;
  /** The last key that the agent was asked for. */
  asked: Key = [-1, 0];
  /** While the agent thinks about it. */
  thinking?: AbortController;
  /** The key of an act without its answer. */
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
  /** Matches that a join of a former connection still has to bring. */
  #owed = 0;
  #noMore = false;
  /** Matches that were running and that the new session does not hold. */
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

  /** Does what the state of affairs calls for: joins, or ends. */
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

  /** Takes over what a new session holds; each held match is told whole by a resync. */
  welcomed(welcome: Welcome): void {
    if (welcome.resumed) return;
    const held = new Set((welcome.matches ?? []).map(({ match }) => match));
    const doubtful = new Set([...this.#matches.keys()].filter((match) => !held.has(match)));
    for (const match of held) {
      if (!this.#ended.has(match) && !this.#matches.has(match)) this.#matches.set(match, new Match());
    }
    const joins = welcome.joins ?? [];
    this.#owed = joins.reduce((sum, { left }) => sum + (left ?? 0), 0);
    // A join that was under way is answered as lost after this.
    if (this.#join === 'joined') this.#join = 'none';
    if (joins.length > 0 && this.#games === 0) this.#join = 'joined';
    this.#doubtful = doubtful;
    if (doubtful.size > 0) {
      // What ended unseen is told, if the server has kept it, before the answer to the next request.
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
      // What `on_event` throws ends it, as what the agent throws.
      this.#fail(error);
    }
  }

  #event(message: EventMessage): void {
    if (message.type === 'queued' || message.type === 'draining') {
      // Without a resume there will be nothing after the matches that still run.
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
    // A turn that waits comes again under its old number.
    if (type === 'turn') return this.#turn(message);
    if (!fresh) return;
    this.options.on_event?.(message);
    if (type === 'match_start') this.#matches.set(match, new Match(message));
    if (type === 'match_end') this.#finish(match, message);
  }

  /** Forgets what was known of a match, but not that the agent thinks about its turn or has answered it. */
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
    // Not bound to the session: (match, turn, try) tells the server what it knows already.
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

/** Legal ids, written out where the game lists them as inclusive ranges. */
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
  throw new TypeError(`the agent returned ${move}; a move is an action id, a text or a document`);
}
