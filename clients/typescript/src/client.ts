// The gym plane: one connection, many environments (sections 3 and 4 of docs/protocol.md).

import { Batch } from './batch.js';
import { bytes, packed, tensors, type Tensors } from './columns.js';
import { failure, LudexError } from './errors.js';
import type {
  GameEntry, GameFilter, GymView, Json, Limits, Move, Opened, Open, Requests, Scope, Spec,
} from './messages.js';
import { type ConnectOptions, type ReplyTo, Session } from './session.js';

export type Seed = number | bigint | string;

/** A connection to a server that survives being cut. */
export class Client {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Connects to `url` (`ws://127.0.0.1:7878`, also `wss://` or host and port alone); of several, to the first that
   * answers.
   * @throws LudexError `connection_lost` when nobody answers, `unauthorized`, or what else the server refused.
   */
  static async connect(url: string | string[], options: ConnectOptions = {}): Promise<Client> {
    const session = new Session(url, options);
    await session.open();
    return new Client(session);
  }

  /** Name and version of the server. */
  get server(): string {
    return this.#session.welcome?.server ?? '';
  }

  get scopes(): Scope[] {
    return this.#session.welcome?.scopes ?? [];
  }

  get limits(): Partial<Limits> {
    return this.#session.welcome?.limits ?? {};
  }

  /** Lists the catalogue. */
  async games(filter?: GameFilter): Promise<GameEntry[]> {
    return (await this.#session.call('list_games', { filter }, false)).games;
  }

  /**
   * Says what there is to know about a game; `game` may be a whole string, `breakthrough(rows=8,columns=3)`.
   * @throws LudexError `unknown_game`, `bad_params`; `nearest` has the likeliest.
   */
  async describe(game: string, options: { params?: Json; rules_text?: boolean } = {}): Promise<Spec> {
    return (await this.#session.call('describe', { game, ...options }, false)).spec;
  }

  /**
   * Opens `count` environments of a game under one handle.
   * @throws LudexError `unknown_game`, `bad_params`, `unknown_agent`, `limit`, ...
   */
  async open(game: string, options: Omit<Open, 'game'> = {}): Promise<Env> {
    const opened = await this.#session.call('open', { game, ...options }, false);
    return new Env(this.#session, opened, options.observer === 'all');
  }

  /** Closes the environments and the connection. */
  close(): void {
    this.#session.close();
  }
}

/** What of an environment is to be seen. */
export interface Look {
  /** The environment's index [0]. */
  i?: number;
  /** Who looks; absent: the seat to move. */
  seat?: number;
  views?: GymView[];
  /** Action ids whose texts are wanted. */
  names?: number[];
  /** Texts whose action ids are wanted. */
  parse?: string[];
}

export interface Seen {
  tensor?: Tensors;
  struct?: unknown;
  text?: string;
  info?: Tensors;
  names?: string[];
  parsed?: (number | null)[];
}

type OfEnv = 'reset' | 'step' | 'view' | 'clone' | 'snapshot' | 'restore' | 'close';

/**
 * `count` environments that are stepped together, indices 0..count; made by `Client.open`.
 *
 * Requests may be made before earlier ones are answered; the server takes them in order. `envs` names some environments
 * where it is an argument; absent means all.
 */
export class Env {
  readonly spec: Spec;
  readonly count: number;
  readonly #session: Session;
  readonly #env: number;
  readonly #everySeat: boolean;
  #underWay = 0;
  #closed = false;

  constructor(session: Session, opened: Opened, everySeat: boolean) {
    this.spec = opened.spec;
    this.count = opened.count;
    this.#session = session;
    this.#env = opened.env;
    this.#everySeat = everySeat;
    session.envs.set(opened.env, this);
  }

  /**
   * Begins episodes.
   * @param how `seed`: environment i gets `seed + i`; `seeds`: one for each of `envs`; `seats` replaces the opponents
   * from now on.
   * @throws LudexError `bad_seed`, `unknown_env`, `unknown_agent`, ...
   */
  async reset(
    how: { seed?: Seed; seeds?: Seed[]; envs?: ArrayLike<number>; seats?: string[] } = {},
  ): Promise<Batch> {
    const { seed, seeds, envs, seats } = how;
    const fields = { seed: seed?.toString(), seeds: seeds?.map(String), seats };
    return this.#batch(await this.#call('reset', { envs: envs && packed(envs, 'u4'), ...fields }));
  }

  /**
   * Makes one move in every environment, or in `envs`.
   *
   * `moves` has R entries; R x P where a move is joint: the acting seats' columns count, the others are -1. A row of -1
   * stays as it is. Ids travel as a column; with a text, a document or `null` among them they travel as a list.
   * @throws LudexError `illegal_action` (`at` is the row; nothing has moved), `env_over`, `bad_shape`, ...
   * @throws RangeError when an id is no 32-bit integer.
   */
  async step(moves: ArrayLike<number> | (Move | null)[], envs?: ArrayLike<number>): Promise<Batch> {
    const said = Array.isArray(moves) && moves.some((move) => typeof move !== 'number');
    const fields = said ? { moves: moves as (Move | null)[] } : { actions: packed(moves as ArrayLike<number>, 'i4') };
    return this.#batch(await this.#call('step', { envs: envs && packed(envs, 'u4'), ...fields }));
  }

  /** Shows any seat's view of one environment, and translates between action ids and texts. */
  async view(look: Look = {}): Promise<Seen> {
    const { tensor, struct, text, info, names, parsed } = await this.#call('view', { views: [], ...look });
    const seen: Seen = { struct, text, names, parsed };
    if (tensor != null) seen.tensor = tensors(tensor);
    if (info != null) seen.info = tensors(info);
    return seen;
  }

  /**
   * Copies environments into a new handle: equal states, the same chance to come or, with `seed`, a fresh one.
   * @throws LudexError `limit`, `unknown_env`, ...
   */
  async clone(how: { envs?: ArrayLike<number>; seed?: Seed } = {}): Promise<Env> {
    const { envs, seed } = how;
    const opened = await this.#call('clone', { envs: envs && packed(envs, 'u4'), seed: seed?.toString() });
    return new Env(this.#session, opened, this.#everySeat);
  }

  /** Returns states as bytes, to restore here or elsewhere. */
  async snapshot(envs?: ArrayLike<number>): Promise<Uint8Array[]> {
    return (await this.#call('snapshot', { envs: envs && packed(envs, 'u4') })).items.map(bytes);
  }

  /**
   * Puts snapshots back, one for each environment or of `envs`.
   * @throws LudexError `bad_snapshot`: not of this game, or no state that can be reached.
   */
  async restore(items: Uint8Array[], envs?: ArrayLike<number>): Promise<Batch> {
    return this.#batch(await this.#call('restore', { items, envs: envs && packed(envs, 'u4') }));
  }

  /** Frees the environments on the server. May be called twice. */
  async close(): Promise<void> {
    if (this.#closed || this.#lost) return;
    const closing = this.#call('close', {});
    this.#closed = true;
    this.#session.envs.delete(this.#env);
    await closing;
  }

  get #lost(): boolean {
    return this.#session.envs.get(this.#env) !== this;
  }

  #batch(message: ReplyTo<'step'>): Batch {
    return new Batch(message, this.spec, this.#everySeat);
  }

  /** A request refused for its rate goes out again, if no other of this handle could be overtaken by it. */
  async #call<K extends OfEnv>(type: K, fields: Omit<Requests[K][0], 'env'>): Promise<ReplyTo<K>> {
    if (this.#closed) throw new LudexError(failure('unknown_env', 'this environment is closed', { fault: 'client' }));
    this.#underWay++;
    try {
      for (;;) {
        if (this.#lost) throw new LudexError(failure('session_lost', 'the server lost this environment: open again'));
        try {
          return await this.#session.call(type, { env: this.#env, ...fields } as Requests[K][0]);
        } catch (error) {
          const { code, after_ms } = error as LudexError;
          if (code !== 'rate_limited' && code !== 'window_full') throw error;
          await new Promise((resolve) => setTimeout(resolve, after_ms ?? 100));
          if (this.#underWay > 1) throw error;
        }
      }
    } finally {
      this.#underWay--;
    }
  }
}
