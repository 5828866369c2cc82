// Matches: plays whole matches with a callback (section 5 of docs/protocol.md).

import { failure, LudexError } from './errors.js';
import type { Clock, Join, Json, LobbyMessage, MatchView, Welcome } from './messages.js';
import { type Agent, Match, Player, type PlayerOptions, seatKey } from './player.js';
import type { MatchResult } from './result.js';
import type { SeatRef } from './session.js';

export interface PlayOptions extends PlayerOptions {
  /** Callback that chooses the moves. */
  agent: Agent;
  /** Game id, or game string with parameters; optional with a ticket. */
  game?: string;
  params?: Json;
  /** Agents of the server for the other seats: one for all, or in seat order; absent: other clients from the queue. */
  against?: string | string[];
  /** Number of matches, not of seats [1]; 0: until the server shuts down or `signal` is aborted. */
  games?: number;
  /** Number of concurrent matches [1]. */
  slots?: number;
  seat?: number;
  queue?: string;
  rated?: boolean;
  clock?: Clock;
  views?: MatchView[];
  /** Settings of the view `prompt` and of the reader of answers. */
  prompt?: Join['prompt'];
  layout?: string;
  ticket?: string;
  /**
   * Take over the seats that `name` still has from a crashed process, and finish those matches first. The matches of
   * joins that continue count as games; matches that ended with an earlier join do not count and have no result.
   */
  reclaim?: boolean;
}

/**
 * Plays matches and returns their results, ordered by end, one for each seat of the agent. A lost connection resumes
 * automatically; the agent is called at most once per attempt.
 * @throws LudexError an error of the server, or `connection_lost`; `results` has the finished matches.
 * @throws TypeError if the agent does not return a move.
 */
export function play(url: string | string[], options: PlayOptions): Promise<MatchResult[]> {
  return new Promise((resolve, reject) => new MatchPlayer(url, options, resolve, reject));
}

/** Plays the matches of a join. */
class MatchPlayer extends Player {
  declare readonly options: PlayOptions;
  readonly #games: number;
  #join: 'none' | 'pending' | 'joined' = 'none';
  /** Ids of the joins whose matches count: those of this call, and those that it took over. */
  readonly #joins = new Set<string>();
  /** Running matches that this call took over, which count too. */
  readonly #held = new Set<string>();
  /** Number of matches that joins of an earlier connection must still start. */
  #joinedMatches = 0;
  #isDraining = false;

  constructor(
    url: string | string[],
    options: PlayOptions,
    readonly resolve: (results: MatchResult[]) => void,
    reject: (error: unknown) => void,
  ) {
    if (options.game === undefined && options.ticket === undefined) {
      throw new LudexError(failure('bad_field', 'expected game or ticket, got neither', { fault: 'client', path: 'game' }));
    }
    super(url, (turn) => options.agent(turn), options, reject);
    this.reclaim = options.reclaim;
    this.#games = options.games ?? 1;
  }

  /** Joins if matches are left; otherwise ends the loop. */
  #advance(): void {
    if (this.over) return;
    if (this.#isDone()) return this.leave(() => this.resolve(this.counted()));
    if (this.#join !== 'none' || this.#isDraining) return;
    const taken = new Set(this.counted().map(({ match }) => match));
    for (const { at, start } of this.matches.values()) if (this.#counts(at.match, start?.join)) taken.add(at.match);
    const count = this.#games && this.#games - taken.size - this.#joinedMatches;
    if (this.#games && count <= 0) return;
    const { game, params, queue, against, seat, slots = 1, views, prompt, layout, rated, clock, ticket } = this.options;
    const join: Join = { game, params, queue, seat, slots, count, views, prompt, layout, rated, clock, ticket };
    if (against !== undefined) join.against = [against].flat();
    this.#join = 'pending';
    this.session.post('join', join, (reply) => {
      if (reply.type !== 'error') {
        this.#join = 'joined';
        this.#joins.add(reply.join);
        return this.#advance();
      }
      if (this.#join === 'pending') this.#join = 'none';
      if (reply.code === 'session_lost') this.#advance();
      else if (reply.retry) setTimeout(() => this.#advance(), reply.after_ms ?? 1_000);
      else this.fail(new LudexError(reply));
    });
  }

  #isDone(): boolean {
    if (this.#isDraining && this.matches.size === 0) return true;
    if (this.#games === 0 || this.results.length < this.#games) return false;
    // A match is finished when all seats of this session have its end.
    const finished = new Set(this.counted().map(({ match }) => match));
    for (const { at } of this.matches.values()) finished.delete(at.match);
    return finished.size >= this.#games;
  }

  #counts(match: string, join: string | undefined): boolean {
    return this.#held.has(match) || (join !== undefined && this.#joins.has(join));
  }

  /** Returns the results without those of other joins of the agent. */
  protected override counted(): MatchResult[] {
    return this.results.filter(({ match, join }) => this.#counts(match, join));
  }

  /** Takes over the seats of a new session; a resync restores each seat. */
  onWelcome(welcome: Welcome): void {
    if (welcome.resumed) return;
    const resumed = new Map<string, SeatRef>();
    for (const { match, seat } of welcome.matches ?? []) {
      if (seat != null) resumed.set(seatKey({ match, seat }), { match, seat });
    }
    this.unconfirmed.clear();
    for (const [key, { at }] of this.matches) if (!resumed.has(key)) this.unconfirmed.set(key, at);
    for (const [key, at] of resumed) {
      this.#held.add(at.match);
      if (!this.ended.has(key) && !this.matches.has(key)) this.matches.set(key, new Match(at));
    }
    const joins = welcome.joins ?? [];
    for (const { join } of joins) this.#joins.add(join);
    this.#joinedMatches = joins.reduce((sum, { left }) => sum + (left ?? 0), 0);
    // A pending join then fails with session_lost.
    if (this.#join === 'joined') this.#join = 'none';
    if (joins.length > 0 && this.#games === 0) this.#join = 'joined';
    if (this.unconfirmed.size > 0) {
      // The server sends a stored `match_end` before the reply to the next request.
      this.session.post('ping', {}, (reply) => {
        if (reply.type === 'error') return;
        for (const at of this.unconfirmed.values()) this.finish(at, { reason: 'unknown_match' });
      });
    }
    this.#advance();
  }

  protected onLobby(message: LobbyMessage): void {
    // Without a resumption, the server starts no further matches.
    if (message.type === 'draining') this.#isDraining = message.resume === false;
    this.#advance();
  }

  protected onSeatLost(at: SeatRef, reason: MatchResult['reason']): void {
    this.finish(at, { reason });
  }

  protected onFinish(): void {
    this.#advance();
  }
}
