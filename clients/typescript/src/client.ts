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
  /** Name of the agent; required only for `withdraw`. */
  name?: string;
}

/** A connection to a server. If the connection is lost, it is resumed automatically. */
export class Client {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Connects to `url` (`ws://127.0.0.1:7878`, `wss://`, or host and port only). If several URLs are given, connects to
   * the first reachable server.
   * @throws LudexError `connection_lost` if no server responds, `unauthorized`, or another error of the server.
   */
  static async connect(url: string | string[], options: ClientOptions = {}): Promise<Client> {
    const { name } = options;
    const session = new Session(url, options, name === undefined ? {} : { agent: { name } });
    await session.open();
    return new Client(session);
  }

  /** Name and version of the server, such as `ludex/0.1.0`. */
  get server(): string {
    return this.#session.welcome?.server ?? '';
  }

  get scopes(): Scope[] {
    return this.#session.welcome?.scopes ?? [];
  }

  get limits(): Partial<Limits> {
    return this.#session.welcome?.limits ?? {};
  }

  /** Lists the games of the server. */
  async games(filter?: GameFilter): Promise<GameEntry[]> {
    return (await this.#session.call('list_games', { filter }, false)).games;
  }

  /**
   * Returns the spec of a game, given as an id or a game string such as `breakthrough(rows=8,columns=3)`.
   * @throws LudexError `unknown_game`, `bad_params`; `nearest` suggests a similar name.
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

  /** Lists the suites of the server. */
  async suites(): Promise<SuiteEntry[]> {
    return (await this.#session.call('suites', {}, false)).suites;
  }

  /**
   * Withdraws the agent `name` from a run. The run ends permanently; matches in progress are forfeited.
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

/** Options of `Env.view`. */
export interface ViewOptions {
  /** Index of the environment [0]. */
  i?: number;
  /** Seat whose view is returned; absent: the seat to move. */
  seat?: number;
  /** Views to return; `returns` is available in batches only. */
  views?: GymView[];
  /** Action ids to convert to texts. */
  names?: number[];
  /** Texts to convert to action ids. */
  parse?: string[];
}

/** Result of `Env.view`. */
export interface ViewResult {
  tensor?: Tensors;
  struct?: unknown;
  text?: string;
  info?: Tensors;
  /** The position as SVG. */
  picture?: PictureView;
  names?: string[];
  parsed?: (number | null)[];
  /** Phase of the game, in games with several phases. */
  phase?: string;
  /** Key in the spec's `document_schemas`: names the schema of the seat's document; absent: no documents now. */
  schema?: string;
}

type OfEnv = 'reset' | 'step' | 'view' | 'clone' | 'snapshot' | 'restore' | 'close';

/**
 * A handle on a batch of `count` environments with indices from 0, created by `Client.open`.
 *
 * Requests may overlap; the server handles requests in order. The argument `envs` selects environments by index;
 * absent: all environments.
 */
export class Env {
  readonly spec: Spec;
  readonly count: number;
  readonly #session: Session;
  readonly #env: number;
  readonly #everySeat: boolean;
  #inFlight = 0;
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
   * Starts episodes.
   * @param how `seed`: environment i gets `seed + i`; `seeds`: one seed per entry of `envs`; `seats`: new opponents,
   * for this and all later episodes.
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
   * `moves` has R entries, or R x P for joint moves, with -1 for seats that do not act. If a row has only -1, its
   * environment is unchanged. Ids are sent as a column; moves that include texts, documents or `null`, as a list.
   * @throws LudexError `illegal_action` (`index` is the row; no environment is changed), `env_over`, `bad_shape`, ...
   * @throws RangeError if an id is not a 32-bit integer.
   */
  async step(moves: ArrayLike<number> | (Move | null)[], envs?: ArrayLike<number>): Promise<Batch> {
    const isList = Array.isArray(moves) && moves.some((move) => typeof move !== 'number');
    const fields = isList ? { moves: moves as (Move | null)[] } : { actions: packed(moves as ArrayLike<number>, 'i4') };
    return this.#batch(await this.#call('step', { envs: envs && packed(envs, 'u4'), ...fields }));
  }

  /** Returns a seat's view of one environment, and converts between action ids and texts. */
  async view(options: ViewOptions = {}): Promise<ViewResult> {
    const viewed = await this.#call('view', { views: [], ...options });
    const { tensor, struct, text, info, picture, names, parsed, phase, schema } = viewed;
    const result: ViewResult = { struct, text, names, parsed, phase, schema };
    if (tensor != null) result.tensor = tensors(tensor);
    if (info != null) result.info = tensors(info);
    if (picture != null) result.picture = picture;
    return result;
  }

  /**
   * Copies environments into a new handle with the same states and, without `seed`, the same future chance outcomes.
   * @throws LudexError `limit`, `unknown_env`, ...
   */
  async clone(how: { envs?: ArrayLike<number>; seed?: Seed } = {}): Promise<Env> {
    const { envs, seed } = how;
    const opened = await this.#call('clone', { envs: envs && packed(envs, 'u4'), seed: seed?.toString() });
    return new Env(this.#session, opened, this.#everySeat);
  }

  /** Returns states as bytes, for `restore` in any handle of the same game. */
  async snapshot(envs?: ArrayLike<number>): Promise<Uint8Array[]> {
    return (await this.#call('snapshot', { envs: envs && packed(envs, 'u4') })).items.map(bytes);
  }

  /**
   * Restores snapshots, one per environment.
   * @throws LudexError `bad_snapshot` if a snapshot belongs to another game or its state is unreachable.
   */
  async restore(items: Uint8Array[], envs?: ArrayLike<number>): Promise<Batch> {
    return this.#batch(await this.#call('restore', { items, envs: envs && packed(envs, 'u4') }));
  }

  /** Frees the environments on the server. Further calls have no effect. */
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

  /** Sends a request. A rate-limited request is retried, unless later requests of this handle are in flight. */
  async #call<K extends OfEnv>(type: K, fields: Omit<Requests[K][0], 'env'>): Promise<ReplyTo<K>> {
    if (this.#closed) throw new LudexError(failure('unknown_env', 'environment is closed', { fault: 'client' }));
    this.#inFlight++;
    try {
      for (;;) {
        if (this.#lost) {
          throw new LudexError(failure('session_lost', 'environment was lost with its session; open it again'));
        }
        try {
          return await this.#session.call(type, { env: this.#env, ...fields } as Requests[K][0]);
        } catch (error) {
          const { code, after_ms } = error as LudexError;
          if (code !== 'rate_limited' && code !== 'window_full') throw error;
          await new Promise((resolve) => setTimeout(resolve, after_ms ?? 100));
          if (this.#inFlight > 1) throw error;
        }
      }
    } finally {
      this.#inFlight--;
    }
  }
}
