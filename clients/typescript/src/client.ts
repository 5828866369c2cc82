// The gym plane: one connection, many environments (sections 3 and 4 of docs/protocol.md).

import { Batch } from './batch.js';
import { bytes, packed, tensors, type Tensors } from './columns.js';
import { failure, LudexError } from './errors.js';
import type {
  GameEntry, GameFilter, GymView, Json, Limits, Move, Opened, Open, PictureView, Requests, Scope, Spec, SuiteEntry,
} from './messages.js';
import { type ConnectOptions, type ReplyTo, Session } from './session.js';

export type Seed = number | bigint | string;

export interface ClientOptions extends ConnectOptions {
  /** The name of an agent, for `withdraw`; environments need none. */
  name?: string;
}

/** A connection to a server that resumes after it is lost. */
export class Client {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Connects to `url` (`ws://127.0.0.1:7878`, also `wss://`, or only host and port). Of several URLs, it connects to the
   * first that answers.
   * @throws LudexError `connection_lost` if no server answers, `unauthorized`, or another error of the server.
   */
  static async connect(url: string | string[], options: ClientOptions = {}): Promise<Client> {
    const { name } = options;
    const session = new Session(url, options, name === undefined ? {} : { agent: { name } });
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
   * Returns the description of a game; `game` may be a whole string, `breakthrough(rows=8,columns=3)`.
   * @throws LudexError `unknown_game`, `bad_params`; `nearest` has the most similar name.
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

  /** Lists the suites that the server offers. */
  async suites(): Promise<SuiteEntry[]> {
    return (await this.#session.call('suites', {}, false)).suites;
  }

  /**
   * Ends a run of the agent `name` for good; its matches under way are lost.
   * @throws LudexError `unknown_run`, `forbidden`
   */
  async withdraw(run: string): Promise<void> {
    await this.#session.call('withdraw', { run }, false);
  }

  /** Closes the environments and the connection. */
  close(): void {
    this.#session.close();
  }
}

/** What `Env.view` should return. */
export interface Look {
  /** The environment's index [0]. */
  i?: number;
  /** The seat whose view it is; absent: the seat to move. */
  seat?: number;
  /** All but `returns`, which come with a batch. */
  views?: GymView[];
  /** Action ids to be translated to texts. */
  names?: number[];
  /** Texts to be translated to action ids. */
  parse?: string[];
}

export interface Seen {
  tensor?: Tensors;
  struct?: unknown;
  text?: string;
  info?: Tensors;
  /** The position drawn for people. */
  picture?: PictureView;
  names?: string[];
  parsed?: (number | null)[];
  /** The phase, in games that have several. */
  phase?: string;
  /** Which of the spec's `proposals` a document of the seat must fit; absent: it is not asked, or no documents are heard. */
  schema?: string;
}

type OfEnv = 'reset' | 'step' | 'view' | 'clone' | 'snapshot' | 'restore' | 'close';

/**
 * `count` environments that are stepped together, indices 0..count; made by `Client.open`.
 *
 * You may make requests before earlier ones are answered; the server handles them in order. An argument `envs` names
 * some of the environments; absent means all.
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
   * @param how `seed`: environment i gets `seed + i`; `seeds`: one for each of `envs`; `seats` replaces the opponents,
   * from these episodes on.
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
   * `moves` has R entries, or R x P if moves are joint: the columns of the acting seats count, the others are -1. A row
   * of -1 leaves its environment unchanged. Ids are sent as a column; if there is a text, a document or `null` among the
   * moves, they are sent as a list.
   * @throws LudexError `illegal_action` (`at` is the row; no environment has moved), `env_over`, `bad_shape`, ...
   * @throws RangeError if an id is not a 32-bit integer.
   */
  async step(moves: ArrayLike<number> | (Move | null)[], envs?: ArrayLike<number>): Promise<Batch> {
    const said = Array.isArray(moves) && moves.some((move) => typeof move !== 'number');
    const fields = said ? { moves: moves as (Move | null)[] } : { actions: packed(moves as ArrayLike<number>, 'i4') };
    return this.#batch(await this.#call('step', { envs: envs && packed(envs, 'u4'), ...fields }));
  }

  /** Returns any seat's view of one environment, and translates between action ids and texts. */
  async view(look: Look = {}): Promise<Seen> {
    const viewed = await this.#call('view', { views: [], ...look });
    const { tensor, struct, text, info, picture, names, parsed, phase, schema } = viewed;
    const seen: Seen = { struct, text, names, parsed, phase, schema };
    if (tensor != null) seen.tensor = tensors(tensor);
    if (info != null) seen.info = tensors(info);
    if (picture != null) seen.picture = picture;
    return seen;
  }

  /**
   * Copies environments into a new handle with equal states. The future chance events are the same too, or, with `seed`,
   * new ones.
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
   * @throws LudexError `bad_snapshot`: of another game, or a state that cannot be reached.
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

  /** A request refused for its rate is sent again, unless it could change places with another of this handle. */
  async #call<K extends OfEnv>(type: K, fields: Omit<Requests[K][0], 'env'>): Promise<ReplyTo<K>> {
    if (this.#closed) throw new LudexError(failure('unknown_env', 'this environment is closed', { fault: 'client' }));
    this.#underWay++;
    try {
      for (;;) {
        if (this.#lost) {
          throw new LudexError(failure('session_lost', 'the server no longer has this environment: open it again'));
        }
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
