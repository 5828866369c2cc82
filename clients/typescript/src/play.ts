// The match plane: whole matches with a callback (section 5 of docs/protocol.md).

import { failure, LudexError } from './errors.js';
import type { Clock, Join, Json, LobbyMessage, MatchView, Welcome } from './messages.js';
import { type Agent, Match, Player, type PlayerOptions } from './player.js';
import type { MatchResult } from './result.js';

export interface PlayOptions extends PlayerOptions {
  /** Chooses the moves. */
  agent: Agent;
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
  /**
   * First take over and finish the matches in which `name` still holds seats, from a process that died; they count as
   * games.
   */
  reclaim?: boolean;
}

/**
 * Plays matches and returns their results, in the order in which they ended. A lost connection is resumed automatically;
 * the agent is never asked twice for the same attempt.
 * @throws LudexError an error of the server, or `connection_lost`; `results` has the finished matches.
 * @throws TypeError the agent returned something that is not a move.
 */
export function play(url: string | string[], options: PlayOptions): Promise<MatchResult[]> {
  return new Promise((resolve, reject) => new Joiner(url, options, resolve, reject));
}

/** Plays the matches of a join. */
class Joiner extends Player {
  declare readonly options: PlayOptions;
  readonly #games: number;
  #join: 'none' | 'asked' | 'joined' = 'none';
  /** How many matches a join of an earlier connection will still bring. */
  #owed = 0;
  #noMore = false;

  constructor(
    url: string | string[],
    options: PlayOptions,
    readonly resolve: (results: MatchResult[]) => void,
    reject: (error: unknown) => void,
  ) {
    if (options.game === undefined && options.ticket === undefined) {
      throw new LudexError(failure('bad_field', 'play needs a game or a ticket', { fault: 'client', path: 'game' }));
    }
    super(url, (turn) => options.agent(turn), options, reject);
    this.reclaim = options.reclaim;
    this.#games = options.games ?? 1;
  }

  /** Does what is due: joins, or ends. */
  #enter(): void {
    if (this.over) return;
    const { length } = this.results;
    if ((this.#noMore && this.matches.size === 0) || (this.#games > 0 && length >= this.#games)) {
      return this.leave(() => this.resolve(this.results));
    }
    if (this.#join !== 'none' || this.#noMore) return;
    const count = this.#games && this.#games - length - this.matches.size - this.#owed;
    if (this.#games && count <= 0) return;
    const { game, params, queue, against, seat, slots = 1, views, layout, rated, clock, ticket } = this.options;
    const join: Join = { game, params, queue, seat, slots, count, views, layout, rated, clock, ticket };
    if (against !== undefined) join.against = [against].flat();
    this.#join = 'asked';
    this.session.post('join', join, (reply) => {
      if (reply.type !== 'error') {
        this.#join = 'joined';
        return;
      }
      if (this.#join === 'asked') this.#join = 'none';
      if (reply.code === 'session_lost') this.#enter();
      else if (reply.retry) setTimeout(() => this.#enter(), reply.after_ms ?? 1_000);
      else this.fail(new LudexError(reply));
    });
  }

  /** Takes over the matches of a new session; a resync tells the whole of each. */
  welcomed(welcome: Welcome): void {
    if (welcome.resumed) return;
    const held = new Set((welcome.matches ?? []).map(({ match }) => match));
    this.doubtful.clear();
    for (const match of this.matches.keys()) if (!held.has(match)) this.doubtful.add(match);
    for (const match of held) {
      if (!this.ended.has(match) && !this.matches.has(match)) this.matches.set(match, new Match());
    }
    const joins = welcome.joins ?? [];
    this.#owed = joins.reduce((sum, { left }) => sum + (left ?? 0), 0);
    // A join without an answer fails with session_lost after this.
    if (this.#join === 'joined') this.#join = 'none';
    if (joins.length > 0 && this.#games === 0) this.#join = 'joined';
    if (this.doubtful.size > 0) {
      // If the server has kept the end of such a match, it sends it before the answer to the next request.
      this.session.post('ping', {}, (reply) => {
        if (reply.type !== 'error') for (const match of this.doubtful) this.finish(match, { reason: 'unknown_match' });
      });
    }
    this.#enter();
  }

  protected lobby(message: LobbyMessage): void {
    // If the server will not resume, no matches follow those that still run.
    if (message.type === 'draining') this.#noMore = message.resume === false;
    this.#enter();
  }

  protected gone(match: string, reason: MatchResult['reason']): void {
    this.finish(match, { reason });
  }

  protected finished(): void {
    this.#enter();
  }
}
