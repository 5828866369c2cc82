// The player loop: an agent answers the turns of its matches over connections that may be lost (section 5 of
// docs/protocol.md). play.ts and evaluate.ts say where the matches come from: a join, or a run.

import { tensors, type Tensors } from './columns.js';
import { LudexError } from './errors.js';
import type {
  AgentKind, ErrorMessage, EventMessage, Issue, Json, LobbyMessage, MatchEnd, MatchStart, Move, Notes, Refused, Requests,
  Resync, SeatView, TurnMessage, Welcome,
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

/**
 * Called with each turn; returns an action id, a text as people write the move, or a document. After a refusal it is
 * called again. It may be called for several matches at the same time, for one turn of each. An error that it throws
 * ends the playing.
 */
export type Agent = (turn: Turn) => Move | Promise<Move>;

/** What every player is told. */
export interface PlayerOptions extends ConnectOptions {
  /** The name under which ratings are kept [a new one]. */
  name?: string;
  version?: string;
  kind?: AgentKind;
  /** Called with every message of the matches and the lobby except turns. */
  on_event?(message: EventMessage): void;
  /** If it is aborted, playing stops and running matches are left. */
  signal?: AbortSignal;
}

type Key = [turn: number, attempt: number];
const later = (a: Key, b: Key) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
const same = (a: Key, b: Key) => a[0] === b[0] && a[1] === b[1];

/** The client's knowledge of one running match. */
export class Match {
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

/** Answers turns until `leave` or `fail` is called. A subclass says what it enters, and when it is done. */
export abstract class Player implements Owner {
  readonly agent;
  reclaim?: boolean;
  protected readonly session: Session;
  protected readonly results: MatchResult[] = [];
  protected readonly matches = new Map<string, Match>();
  protected readonly ended = new Set<string>();
  /** Running matches that the new session does not hold. */
  protected readonly doubtful = new Set<string>();
  protected over = false;

  constructor(
    url: string | string[],
    readonly ask: Agent,
    readonly options: PlayerOptions,
    readonly reject: (error: unknown) => void,
  ) {
    const { name = `typescript-${Math.random().toString(36).slice(2, 10)}`, version, kind = 'bot', signal } = options;
    this.agent = { name, version, kind };
    signal?.throwIfAborted();
    signal?.addEventListener('abort', this.#aborted);
    this.session = new Session(url, options, this);
    this.session.open().catch((error) => this.fail(error));
  }

  /** A connection was made. */
  abstract welcomed(welcome: Welcome): void;

  /** A message came that is not about a match. */
  protected abstract lobby(message: LobbyMessage): void;

  /** A match has ended. */
  protected finished(): void {}

  /** The server no longer knows this seat. */
  protected abstract gone(match: string, reason: MatchResult['reason']): void;

  readonly #aborted = () => this.fail(this.options.signal?.reason);

  protected fail(error: unknown): void {
    if (error instanceof LudexError) error.results = this.results;
    this.leave(() => this.reject(error));
  }

  protected leave(settle: () => void): void {
    if (this.over) return;
    this.over = true;
    this.options.signal?.removeEventListener('abort', this.#aborted);
    for (const match of this.matches.values()) match.stop();
    this.session.close();
    settle();
  }

  // ---- sessions

  failed(error: LudexError): void {
    this.fail(error);
  }

  // ---- events

  event(message: EventMessage): void {
    if (this.over) return;
    try {
      this.#event(message);
    } catch (error) {
      // An error that a callback throws ends the playing, like one of the agent.
      this.fail(error);
    }
  }

  #event(message: EventMessage): void {
    if (!('match' in message)) {
      this.options.on_event?.(message);
      return this.lobby(message);
    }
    const { match, seq, type } = message;
    this.doubtful.delete(match);
    if (this.ended.has(match)) return;
    if (type === 'resync') return this.#resync(message);
    const { seen } = this.session;
    const fresh = !(seq <= (seen[match] ?? -1));
    if (fresh) seen[match] = seq;
    // A turn without an answer may come again with its old number.
    if (type === 'turn') return this.#turn(message);
    if (!fresh) return;
    this.options.on_event?.(message);
    if (type === 'match_start') this.matches.set(match, new Match(message));
    if (type === 'match_end') this.finish(match, message);
  }

  /** Replaces the knowledge of a match, but remembers that the agent thinks about its turn or has answered it. */
  #resync(message: Resync): void {
    const { match, seq, start, turn, end } = message;
    this.session.seen[match] = seq;
    this.options.on_event?.(message);
    const state = this.matches.get(match) ?? new Match();
    this.matches.set(match, state);
    state.start = start;
    const key: Key | undefined = turn && [turn.turn, turn.try ?? 0];
    const busy = key && ((state.thinking && same(key, state.asked)) || (state.acting && same(key, state.acting)));
    if (!busy) {
      state.stop();
      state.asked = [-1, 0];
    }
    if (end) this.finish(match, end);
    else if (turn) this.#turn(turn);
  }

  #turn(frame: TurnMessage, refusal?: Refusal): void {
    const state = this.matches.get(frame.match);
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
      const move = said(await this.ask(turn));
      if (state.thinking !== thinking) return;
      state.thinking = undefined;
      const notes = Object.keys(turn.notes).length > 0 ? turn.notes : undefined;
      this.#act({ match: turn.match, turn: turn.turn, try: turn.try, ...move, notes });
    } catch (error) {
      if (state.thinking === thinking) this.fail(error);
    }
  }

  // ---- acts

  #act(act: Requests['act'][0]): void {
    const state = this.matches.get(act.match);
    if (!state || this.over) return;
    const key: Key = [act.turn, act.try ?? 0];
    state.acting = key;
    const answered = (reply: Requests['act'][1] | ErrorMessage) => {
      if (this.over || this.matches.get(act.match) !== state) return;
      if (reply.type === 'error' && reply.retry) {
        setTimeout(() => this.#act(act), reply.after_ms ?? 100);
        return;
      }
      if (state.acting && same(state.acting, key)) state.acting = undefined;
      if (reply.type === 'refused') this.#refused(state, reply);
      if (reply.type !== 'error' || LATE.includes(reply.code)) return;
      if (GONE.includes(reply.code)) this.gone(act.match, reply.code as MatchResult['reason']);
      else this.fail(new LudexError(reply));
    };
    // Not bound to the session: the server recognises a repeated act by (match, turn, try).
    this.session.post('act', act, answered, false);
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

  protected finish(match: string, end: Pick<MatchResult, 'reason'> & Partial<Omit<MatchEnd, 'reason'>>): void {
    const state = this.forget(match);
    if (!state) return;
    this.results.push({
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
    this.ended.add(match);
    if (this.ended.size > REMEMBERED) {
      const [oldest] = this.ended as Iterable<string> as [string];
      this.ended.delete(oldest);
      delete this.session.seen[oldest];
    }
    this.finished();
  }

  /** Drops the knowledge of a match; the agent need not answer its turn any more. */
  protected forget(match: string): Match | undefined {
    const state = this.matches.get(match);
    state?.stop();
    this.matches.delete(match);
    return state;
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
