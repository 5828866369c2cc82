// The player loop: calls an agent for the turns of its matches, across reconnections (section 5 of docs/protocol.md).
// play.ts and evaluate.ts provide the matches: by a join, or by a run.

import { tensors, type Tensors } from './columns.js';
import { LudexError } from './errors.js';
import type {
  AgentKind, ChatMessage, ErrorMessage, EventMessage, Issue, Json, LobbyMessage, MatchEnd, MatchStart, Move, Notes, Refused, Requests,
  Resync, SeatView, TurnMessage, Welcome,
} from './messages.js';
import type { MatchResult } from './result.js';
import { type ConnectOptions, type SeatRef, seatOf, Session, type SessionHandler } from './session.js';

// Errors of an act that arrived too late; none of them uses a try.
const LATE_CODES = ['stale_turn', 'conflict', 'not_your_turn', 'match_over'];
const SEAT_LOST_CODES = ['unknown_match', 'not_your_seat'];
// Number of ended seats to remember, for recognizing a repeated `match_end`.
const MAX_ENDED = 1_000;

/** Refusal of the last attempt at a turn. The state is unchanged. */
export interface Refusal {
  code: Refused['code'];
  message: string;
  /** Number of tries left before the match's policy for illegal moves applies. */
  tries_left: number;
  /** Validation errors of a document. */
  issues: Issue[];
  /** Words for the model about its refused answers in this turn; absent after another move. */
  answer?: string;
}

/** A move request for one seat of a match. */
export interface Turn {
  match: string;
  game: string;
  /** The seat to move; an agent may have several seats of a match. */
  seat: number;
  /** Number of this turn among the seat's turns, from 0. */
  turn: number;
  /** Number of refused moves in this turn. */
  try: number;
  /** Legal action ids, ascending. */
  legal: number[];
  /** Texts of the actions in `legal`; present with the view `texts`. */
  names?: string[];
  /** The requested views. */
  view: { struct?: unknown; text?: string; tensor?: Tensors; info?: Tensors; prompt?: ChatMessage[] };
  /** Time limit in milliseconds, after which the seat loses; absent: no limit. */
  budget_ms?: number;
  /** Time left in each seat's bank, in milliseconds. */
  bank_ms: number[];
  /** Phase of the game, in games with several phases. */
  phase?: string;
  /** Key in the spec's `document_schemas`: names the schema of this turn's document; absent: no documents now. */
  schema?: string;
  /** Public data of the match: `seats`, `clock`, `params`, ... */
  start: MatchStart;
  /** Refusal of the last attempt; absent if the refusal was lost with a connection. */
  refusal?: Refusal;
  /** Notes to send with the move, set by the agent. */
  notes: Notes;
  /** Signal that is aborted if the turn ends before the move is chosen. */
  signal: AbortSignal;
}

/**
 * Chooses a move: an action id, a move as text, a document, or the answer of a language model. Called for each turn, and again after a refusal. Calls for
 * different matches and seats may overlap; a seat has one call at a time. A thrown error ends `play` or `evaluate`.
 */
export type Agent = (turn: Turn) => Move | Answer | Promise<Move | Answer>;

/** Answer of a language model as it wrote it, from which the server reads the move. */
export class Answer {
  constructor(readonly text: string) {}
}

/** Options of every player. */
export interface PlayerOptions extends ConnectOptions {
  /** Name of the agent, which its ratings belong to [a random name]. */
  name?: string;
  version?: string;
  kind?: AgentKind;
  /** Called with every message except turns. */
  on_event?(message: EventMessage): void;
  /** Stops playing when aborted; matches in progress are abandoned. */
  signal?: AbortSignal;
}

type Key = [turn: number, attempt: number];
const later = (a: Key, b: Key) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
const same = (a: Key, b: Key) => a[0] === b[0] && a[1] === b[1];

/** Key of a seat in maps: the session may hold several seats of a match. */
export const seatKey = ({ match, seat }: SeatRef) => `${match} ${seat ?? 0}`;

/** State of a match in progress, for one seat. */
export class Match {
  /** Last `turn` message. */
  frame?: TurnMessage;
  /** Key of the last move request to the agent. */
  requested: Key = [-1, 0];
  /** Controller of the pending call of the agent; absent if no call is pending. */
  thinking?: AbortController;
  /** Key of the act that has no reply yet. */
  acting?: Key;

  constructor(readonly at: SeatRef, public start?: MatchStart) {}

  stop(): void {
    this.thinking?.abort();
    this.thinking = undefined;
  }
}

/** Plays turns until `leave` or `fail` is called. Subclasses enter matches and decide when to leave. */
export abstract class Player implements SessionHandler {
  readonly agent;
  reclaim?: boolean;
  protected readonly session: Session;
  /** A result for each match, or for each of its seats if the session holds several. */
  protected readonly results: MatchResult[] = [];
  /** Seats of matches in progress, by `seatKey`. */
  protected readonly matches = new Map<string, Match>();
  /** Ended seats, by `seatKey`. */
  protected readonly ended = new Map<string, SeatRef>();
  /** Seats in progress that are missing in the new session, by `seatKey`. */
  protected readonly unconfirmed = new Map<string, SeatRef>();
  protected over = false;

  constructor(
    url: string | string[],
    readonly choose: Agent,
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

  /** Called after each connection. */
  abstract onWelcome(welcome: Welcome): void;

  /** Called with each message that does not belong to a match. */
  protected abstract onLobby(message: LobbyMessage): void;

  /** Called after the end of each seat. */
  protected onFinish(): void {}

  /** Called when the seat no longer exists on the server. */
  protected abstract onSeatLost(at: SeatRef, reason: MatchResult['reason']): void;

  /** Returns the results to report. */
  protected counted(): MatchResult[] {
    return this.results;
  }

  readonly #aborted = () => this.fail(this.options.signal?.reason);

  protected fail(error: unknown): void {
    if (error instanceof LudexError) error.results = this.counted();
    this.leave(() => this.reject(error));
  }

  protected leave(done: () => void): void {
    if (this.over) return;
    this.over = true;
    this.options.signal?.removeEventListener('abort', this.#aborted);
    for (const match of this.matches.values()) match.stop();
    this.session.close();
    done();
  }

  // ---- sessions

  onFailed(error: LudexError): void {
    this.fail(error);
  }

  // ---- events

  onEvent(message: EventMessage): void {
    if (this.over) return;
    try {
      this.#event(message);
    } catch (error) {
      // An error in a callback ends the player, as an error in the agent does.
      this.fail(error);
    }
  }

  #event(message: EventMessage): void {
    if (!('match' in message)) {
      this.options.on_event?.(message);
      return this.onLobby(message);
    }
    const { seq, type } = message;
    const at = seatOf(message);
    this.unconfirmed.delete(seatKey(at));
    if (this.ended.has(seatKey(at))) return;
    if (type === 'resync') return this.#resync(at, message);
    const { seen } = this.session;
    const fresh = seq > seen.get(at);
    if (fresh) seen.set(at, seq);
    // An unanswered turn may be sent again with its old number.
    if (type === 'turn') return this.#turn(message);
    if (!fresh) return;
    this.options.on_event?.(message);
    if (type === 'match_start') this.matches.set(seatKey(at), new Match(at, message));
    if (type === 'match_end') this.finish(at, message);
  }

  /** Replaces the state of a seat, but keeps a pending move request and a pending act. */
  #resync(at: SeatRef, message: Resync): void {
    const { seq, start, turn, end } = message;
    this.session.seen.set(at, seq);
    this.options.on_event?.(message);
    const state = this.matches.get(seatKey(at)) ?? new Match(at);
    this.matches.set(seatKey(at), state);
    state.start = start;
    const key: Key | undefined = turn && [turn.turn, turn.try ?? 0];
    const busy = key && ((state.thinking && same(key, state.requested)) || (state.acting && same(key, state.acting)));
    if (!busy) {
      state.stop();
      state.requested = [-1, 0];
    }
    if (end) this.finish(at, end);
    else if (turn) this.#turn(turn);
  }

  #turn(frame: TurnMessage, refusal?: Refusal): void {
    const state = this.matches.get(seatKey(frame));
    if (!state?.start) return;
    state.frame = frame;
    const key: Key = [frame.turn, frame.try ?? 0];
    if (!later(key, state.requested)) return;
    state.stop();
    state.requested = key;
    state.thinking = new AbortController();
    void this.#requestMove(state, state.thinking, {
      match: frame.match,
      game: state.start.game,
      seat: frame.seat,
      turn: key[0],
      try: key[1],
      legal: legalIds(frame.legal ?? []),
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

  async #requestMove(state: Match, thinking: AbortController, turn: Turn): Promise<void> {
    try {
      const move = moveFields(await this.choose(turn));
      if (state.thinking !== thinking) return;
      state.thinking = undefined;
      const notes = Object.keys(turn.notes).length > 0 ? turn.notes : undefined;
      this.#act({ match: turn.match, seat: turn.seat, turn: turn.turn, try: turn.try, ...move, notes });
    } catch (error) {
      if (state.thinking === thinking) this.fail(error);
    }
  }

  // ---- acts

  #act(act: Requests['act'][0]): void {
    const state = this.matches.get(seatKey(act));
    if (!state || this.over) return;
    const key: Key = [act.turn, act.try ?? 0];
    state.acting = key;
    const onReply = (reply: Requests['act'][1] | ErrorMessage) => {
      if (this.over || this.matches.get(seatKey(act)) !== state) return;
      if (reply.type === 'error' && reply.retry) {
        setTimeout(() => this.#act(act), reply.after_ms ?? 100);
        return;
      }
      if (state.acting && same(state.acting, key)) state.acting = undefined;
      if (reply.type === 'refused') this.#refused(state, reply);
      if (reply.type !== 'error' || LATE_CODES.includes(reply.code)) return;
      if (SEAT_LOST_CODES.includes(reply.code)) this.onSeatLost(state.at, reply.code as MatchResult['reason']);
      else this.fail(new LudexError(reply));
    };
    // Not bound to the session: the server recognizes a repeated act by (match, seat, turn, try).
    this.session.post('act', act, onReply, false);
  }

  #refused(state: Match, { turn, try: attempt, code, message, tries_left, legal, issues, answer }: Refused): void {
    const { frame } = state;
    if (!frame || frame.turn !== turn || tries_left === 0) return;
    const names = frame.names && new Map(legalIds(frame.legal ?? []).map((id, i) => [id, frame.names![i]!]));
    const again: TurnMessage = { ...frame, try: attempt };
    if (legal) {
      again.legal = legal;
      if (names) again.names = legalIds(legal).map((id) => names.get(id) ?? `${id}`);
    }
    this.#turn(again, { code, message, tries_left, issues: issues ?? [], answer: answer?.message });
  }

  protected finish(at: SeatRef, end: Pick<MatchResult, 'reason'> & Partial<Omit<MatchEnd, 'reason'>>): void {
    const state = this.forget(at);
    if (!state) return;
    this.results.push({
      match: at.match,
      game: state.start?.game ?? '',
      seat: at.seat ?? 0,
      seats: state.start?.seats.map(({ name }) => name) ?? [],
      returns: end.returns ?? [],
      outcome: end.outcome ?? [],
      reason: end.reason,
      at_fault: end.at_fault,
      rated: end.rated ?? false,
      record: end.record,
      join: state.start?.join,
    });
    this.ended.set(seatKey(at), at);
    if (this.ended.size > MAX_ENDED) {
      const [[key, oldest]] = this.ended as Iterable<[string, SeatRef]> as [[string, SeatRef]];
      this.ended.delete(key);
      this.session.seen.delete(oldest);
    }
    this.onFinish();
  }

  /** Removes a seat and aborts its pending move request. */
  protected forget(at: SeatRef): Match | undefined {
    const state = this.matches.get(seatKey(at));
    state?.stop();
    this.matches.delete(seatKey(at));
    return state;
  }
}

/** Returns legal ids as a flat list; games may send inclusive ranges. */
function legalIds(legal: (number | [number, number])[]): number[] {
  return legal.flatMap((entry) => {
    if (typeof entry === 'number') return [entry];
    const [low, high] = entry;
    return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  });
}

function view({ tensor, info, ...rest }: SeatView): Turn['view'] {
  const decoded: Turn['view'] = rest;
  if (tensor != null) decoded.tensor = tensors(tensor);
  if (info != null) decoded.info = tensors(info);
  return decoded;
}

function moveFields(
  move: Move | Answer,
): { action: number } | { text: string } | { document: Json } | { answer: string } {
  if (move instanceof Answer) return { answer: move.text };
  if (typeof move === 'number' && Number.isSafeInteger(move)) return { action: move };
  if (typeof move === 'string') return { text: move };
  if (typeof move === 'object' && move !== null) return { document: move };
  throw new TypeError(`expected a move (action id, text, document or Answer) from the agent, got ${move}`);
}
