// A session: requests and replies over connections that may be lost and resumed (section 7 of docs/protocol.md).
//
// After a lost connection the client connects again. Its `hello` names the session, its key and the last event seen of
// every match. Requests without an answer are sent again with their old ids; the server carries out none of them twice.

import { failure, LudexError } from './errors.js';
import type {
  AgentId, ClientMessage, ErrorMessage, EventMessage, Hello, Requests, ServerMessage, Welcome,
} from './messages.js';
import { type Encoding, Line, normalUrl, pack, type Packed } from './wire.js';

const CLIENT = 'ludex-typescript/0.1.0';
const HELLO_ID = 1;
const CONNECT_MS = 10_000;
const FIRST_MS = 5_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
const TICK_MS = 10_000;
const QUIET_TICKS = 3;

// Close codes after which the session cannot be resumed, and the error code for each. 4005 (idle) ends a session too,
// but one without matches or environments, so a new session replaces it.
const FATAL: Record<number, ErrorMessage['code']> = { 4000: 'protocol', 4001: 'unauthorized', 4002: 'superseded' };
const RATE = 4004;
const IDLE = 4005;

export interface ConnectOptions {
  /** The access token, if the server wants one. */
  token?: string;
  /** [msgpack] */
  encoding?: Encoding;
  /**
   * How many milliseconds to try to connect. By default 5 s for the first connection, and as long as the server keeps
   * the session after a loss.
   */
  patience_ms?: number;
  /**
   * Certificates to trust beside those of Node, as PEM, for a server with one of its own. [the file that SSL_CERT_FILE
   * names]. Only in Node: a browser has its own.
   */
  ca?: string;
}

/** The owner of a session gets its events, in the order of their arrival. */
export interface Owner {
  agent?: AgentId;
  reclaim?: boolean;
  /** Called after a connection was made; without `welcome.resumed` it begins a new session. */
  welcomed?(welcome: Welcome): void;
  event?(message: EventMessage): void;
  /** Called when a connection was lost. The session connects again, which `welcomed` tells. */
  lost?(): void;
  /** Called when the session has ended for good. */
  failed?(error: LudexError): void;
}

type Kind = keyof Requests;
export type ReplyTo<K extends Kind> = Requests[K][1];
interface Waiting {
  packed: Packed;
  bound: boolean;
  env?: number;
  answer(reply: ServerMessage): void;
}

export class Session {
  /** The last `welcome`. */
  welcome?: Welcome;
  /** Match -> the last `seq` seen. */
  readonly seen: Record<string, number> = {};
  /** Open handles and their owners: after a restart the server may use the same number for another handle. */
  readonly envs = new Map<number, object>();
  readonly #urls: string[];
  readonly #encoding: Encoding;
  readonly #waiting = new Map<number, Waiting>();
  #line?: Line;
  #nextId = HELLO_ID + 1;
  #resumable = false;
  #over?: ErrorMessage;
  /** Ends the current wait of a connection when the session ends. */
  #wake = () => {};
  #restMs = 0;
  #quiet = 0;
  #clock?: ReturnType<typeof setInterval>;

  constructor(url: string | string[], readonly options: ConnectOptions, readonly owner: Owner = {}) {
    this.#urls = [url].flat().map(normalUrl);
    this.#encoding = options.encoding ?? 'msgpack';
  }

  /**
   * Connects.
   * @throws LudexError `connection_lost` if no server answers, or an error of the server.
   */
  async open(): Promise<void> {
    await this.#connect(this.options.patience_ms ?? FIRST_MS);
    // A bot in a queue may wait for a long time, and only this tells it that the server is gone.
    if (this.owner.event) this.#clock = setInterval(() => this.#watch(), TICK_MS);
  }

  /**
   * Sends a request; `answer` gets its reply or `error`, in order with all events.
   *
   * A `bound` request has a meaning only in this session. If the server has forgotten the session, the request fails
   * with `session_lost`; others are sent again.
   */
  post<K extends Kind>(
    type: K, fields: Requests[K][0], answer: (reply: ReplyTo<K> | ErrorMessage) => void, bound = true,
  ): void {
    if (this.#over) return answer(this.#over);
    const id = this.#nextId++;
    const packed = pack({ ...fields, type, id } as ClientMessage, this.#encoding);
    const { env } = fields as { env?: number };
    this.#waiting.set(id, { packed, bound, env, answer: answer as Waiting['answer'] });
    this.#line?.send(packed);
  }

  /**
   * Sends a request and returns its reply.
   * @throws LudexError the reply is an `error`, or the connection is lost for good.
   */
  call<K extends Kind>(type: K, fields: Requests[K][0], bound = true): Promise<ReplyTo<K>> {
    return new Promise((resolve, reject) => {
      const answer = (reply: ReplyTo<K> | ErrorMessage) =>
        reply.type === 'error' ? reject(new LudexError(reply)) : resolve(reply);
      this.post(type, fields, answer, bound);
    });
  }

  /** Frees the environments on the server and ends the session; waiting requests fail. */
  close(): void {
    for (const env of this.envs.keys()) this.post('close', { env }, () => {});
    this.#end(failure('connection_lost', 'the session was closed', { fault: 'client' }));
  }

  #end(error: ErrorMessage): void {
    if (this.#over) return;
    this.#over = error;
    clearInterval(this.#clock);
    this.#line?.cut();
    this.#line = undefined;
    this.#wake();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { answer } of waiting) answer(error);
    this.owner.failed?.(new LudexError(error));
  }

  // ---- connections

  get #patienceMs(): number {
    return this.options.patience_ms ?? this.welcome?.limits?.grace_ms ?? 60_000;
  }

  /** Tries the servers in turn until one says welcome. */
  async #connect(patienceMs: number): Promise<void> {
    const end = Date.now() + patienceMs;
    let pauseMs = FIRST_PAUSE_MS;
    for (let attempt = 1; ; attempt++) {
      const url = this.#urls[(attempt - 1) % this.#urls.length]!;
      const error = await this.#hello(url);
      if (this.#over) throw new LudexError(this.#over);
      if (!error) return;
      pauseMs = Math.max(pauseMs, error.after_ms ?? 0);
      const late = Date.now() + pauseMs > end;
      if (!error.retry || late) {
        this.#end(error.retry ? failure('connection_lost', `no server answers at ${url}: ${error.message}`) : error);
        throw new LudexError(this.#over!);
      }
      if (attempt % this.#urls.length === 0) {
        await this.#pause(pauseMs);
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      }
    }
  }

  /** Opens a connection and says hello; if that fails, returns the error. */
  #hello(url: string): Promise<ErrorMessage | undefined> {
    return new Promise((resolve) => {
      const fail = (error: ErrorMessage) => {
        clearTimeout(timer);
        line.cut();
        resolve(error);
      };
      this.#wake = () => fail(this.#over!);
      const late = failure('connection_lost', 'no answer in time', { retry: true });
      const timer = setTimeout(() => fail(late), CONNECT_MS);
      const line = new Line(url, this.#encoding, {
        opened: () => line.send(pack(this.#greeting(), this.#encoding)),
        received: (message) => {
          if (this.#over) return line.cut();
          if (this.#line === line) return this.#receive(message);
          if (message.type === 'error') return fail(message);
          if (message.type !== 'welcome') return;
          clearTimeout(timer);
          resolve(undefined);
          this.#wake = () => {};
          this.#line = line;
          this.#welcomed(message);
        },
        lost: (code, reason, error) => {
          if (code === IDLE) this.#resumable = false;
          const fatal = error?.code ?? FATAL[code];
          const why = failure(fatal ?? 'connection_lost', error?.message ?? reason, { retry: !fatal });
          if (this.#line !== line) return fail(why);
          this.#line = undefined;
          if (fatal) return this.#end(why);
          this.owner.lost?.();
          this.#again(code === RATE ? this.#restMs || 1_000 : 0);
        },
      }, this.options.ca);
    });
  }

  #again(pauseMs: number): void {
    this.#restMs = 0;
    // The owner and the waiting requests learn how it ends.
    const connect = () => this.#connect(this.#patienceMs);
    this.#pause(pauseMs).then(connect).catch(() => {});
  }

  #greeting(): ClientMessage {
    const { welcome, owner } = this;
    const hello: Hello = { protocol: [1], client: CLIENT, token: this.options.token, agent: owner.agent };
    if (welcome && this.#resumable) hello.resume = { session: welcome.session, key: welcome.key, seen: this.seen };
    // If the server has forgotten the session, the name brings a player's seats back.
    if (owner.reclaim || (welcome && owner.event)) hello.reclaim = true;
    return { type: 'hello', id: HELLO_ID, ...hello };
  }

  #welcomed(welcome: Welcome): void {
    this.welcome = welcome;
    this.#resumable = true;
    this.#quiet = 0;
    // A session outlives a restart of the server, but environments do not. A request for a lost environment must not
    // reach a new one with the same number.
    const gone = [...this.envs.keys()].filter((env) => !welcome.resumed || !welcome.envs?.includes(env));
    for (const env of gone) this.envs.delete(env);
    const lost: Waiting[] = [];
    for (const [id, waiting] of this.#waiting) {
      const { packed, bound, env } = waiting;
      if (welcome.resumed ? env === undefined || !gone.includes(env) : !bound) {
        this.#line?.send(packed);
      } else {
        this.#waiting.delete(id);
        lost.push(waiting);
      }
    }
    this.owner.welcomed?.(welcome);
    const error = failure('session_lost', 'the server no longer has this session or environment: open it again');
    for (const { answer } of lost) answer(error);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** After a long silence, sends a ping; if there is no answer, drops the connection. */
  #watch(): void {
    // Ticks are counted instead of time, because an agent may keep the thread busy while the server is not silent.
    this.#quiet++;
    if (!this.#line) return;
    if (this.#quiet === QUIET_TICKS) this.post('ping', {}, () => {});
    if (this.#quiet < 2 * QUIET_TICKS) return;
    this.#line.cut();
    this.#line = undefined;
    this.owner.lost?.();
    this.#again(0);
  }

  // ---- messages

  #receive(message: ServerMessage): void {
    this.#quiet = 0;
    if (message.type === 'error') this.#restMs = Math.max(this.#restMs, message.after_ms ?? 0);
    if (message.re != null) {
      // A second reply to the same request is dropped.
      const waiting = this.#waiting.get(message.re);
      this.#waiting.delete(message.re);
      waiting?.answer(message);
    } else if (message.type === 'ping') {
      this.#line?.send(pack({ type: 'pong', nonce: message.nonce }, this.#encoding));
    } else if (message.type === 'error') {
      if (!message.retry) this.#end(message);
    } else {
      this.owner.event?.(message as EventMessage);
    }
  }
}
