// A session: requests and replies across reconnections (section 7 of docs/protocol.md).
//
// After a lost connection the client reconnects. Its `hello` has the session, its key and the last event number of each
// seat. Unanswered requests are sent again with their old ids; the server executes each of them once.

import { failure, LudexError } from './errors.js';
import type {
  AgentId, ClientMessage, ErrorMessage, EventMessage, Hello, Requests, SeenFrames, ServerMessage, Welcome,
} from './messages.js';
import { Connection, type Encoding, normalUrl, pack, type Packed } from './wire.js';

const CLIENT = 'ludex-typescript/0.1.0';
const HELLO_ID = 1;
const CONNECT_MS = 10_000;
const FIRST_PATIENCE_MS = 5_000;
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;
const TICK_MS = 10_000;
const MAX_SILENT_TICKS = 3;

// Close codes that end the session, with their error codes. 4005 (idle) also ends the session, but it has no matches or
// environments, so a new session replaces it.
const FATAL: Record<number, ErrorMessage['code']> = { 4000: 'protocol', 4001: 'unauthorized', 4002: 'superseded' };
const RATE = 4004;
const IDLE = 4005;

export interface ConnectOptions {
  /** Access token, if the server requires one. */
  token?: string;
  /** Message encoding [msgpack]. */
  encoding?: Encoding;
  /**
   * Time limit for connecting, in milliseconds [5 s for the first connection, later the time for which the server keeps
   * the session].
   */
  patience_ms?: number;
  /**
   * Additional trusted certificates as PEM, for a server with a private certificate [the file in SSL_CERT_FILE]. Node
   * only.
   */
  ca?: string;
}

/** Callbacks of a session, called in order of arrival. */
export interface SessionHandler {
  agent?: AgentId;
  reclaim?: boolean;
  /** Called after each connection. Without `welcome.resumed`, the session is new. */
  onWelcome?(welcome: Welcome): void;
  onEvent?(message: EventMessage): void;
  /** Called when the connection is lost. The session reconnects and calls `onWelcome`. */
  onLost?(): void;
  /** Called when the session has ended permanently. */
  onFailed?(error: LudexError): void;
}

type Kind = keyof Requests;
export type ReplyTo<K extends Kind> = Requests[K][1];
interface PendingRequest {
  packed: Packed;
  bound: boolean;
  env?: number;
  answer(reply: ServerMessage): void;
}

/** The seat that a message belongs to: a match, and the seat of the viewer in it; absent for a spectator. */
export interface SeatRef {
  match: string;
  seat?: number;
}

/** Returns the seat that a message of a match belongs to. The `seat` of an event is that of the player. */
export function seatOf(message: Extract<EventMessage, { match: string }>): SeatRef {
  return { match: message.match, seat: message.type === 'event' ? message.viewer : message.seat };
}

/** The last `seq` received of each match and seat. */
export class SeenSeqs {
  readonly #matches = new Map<string, Map<number | undefined, number>>();

  get({ match, seat }: SeatRef): number {
    return this.#matches.get(match)?.get(seat) ?? -1;
  }

  set({ match, seat }: SeatRef, seq: number): void {
    const seats = this.#matches.get(match) ?? new Map<number | undefined, number>();
    this.#matches.set(match, seats.set(seat, seq));
  }

  delete({ match, seat }: SeatRef): void {
    const seats = this.#matches.get(match);
    seats?.delete(seat);
    if (seats?.size === 0) this.#matches.delete(match);
  }

  /** Returns `resume.seen`: the number of each match, or the numbers by seat if there are several. */
  frames(): Record<string, SeenFrames> {
    const frames: Record<string, SeenFrames> = {};
    for (const [match, seats] of this.#matches) {
      const [first] = seats.values();
      frames[match] = seats.size > 1 ? Object.fromEntries([...seats].map(([seat, seq]) => [`${seat}`, seq])) : first!;
    }
    return frames;
  }
}

/** A session with a server, which persists across reconnections. */
export class Session {
  /** The last `welcome`. */
  welcome?: Welcome;
  /** Last `seq` received of each match and seat. */
  readonly seen = new SeenSeqs();
  /** Open handles with their owners, since a restarted server may reuse the number of a handle. */
  readonly envs = new Map<number, object>();
  readonly #urls: string[];
  readonly #encoding: Encoding;
  readonly #pending = new Map<number, PendingRequest>();
  #connection?: Connection;
  #nextId = HELLO_ID + 1;
  #resumable = false;
  /** URL of the session's cell, once the server has named it. */
  #cell?: string;
  /** True once the session has joins or seats, so that it stays in its cell, as a session with environments does. */
  #seated = false;
  #moving = false;
  #over?: ErrorMessage;
  /** Cancels the current wait when the session ends. */
  #wake = () => {};
  #restMs = 0;
  #silentTicks = 0;
  #clock?: ReturnType<typeof setInterval>;

  constructor(url: string | string[], readonly options: ConnectOptions, readonly handler: SessionHandler = {}) {
    this.#urls = [url].flat().map(normalUrl);
    this.#encoding = options.encoding ?? 'msgpack';
  }

  /**
   * Connects.
   * @throws LudexError `connection_lost` if no server responds, or an error of the server.
   */
  async open(): Promise<void> {
    await this.#connect(this.options.patience_ms ?? FIRST_PATIENCE_MS);
    // Detects a dead server while a bot waits in a queue.
    if (this.handler.onEvent) this.#clock = setInterval(() => this.#checkSilence(), TICK_MS);
  }

  /**
   * Sends a request. `answer` receives the reply or `error`, in order with all events.
   *
   * A `bound` request is valid only in this session: if the session no longer exists, the request fails with
   * `session_lost`. Other requests are sent again.
   */
  post<K extends Kind>(
    type: K, fields: Requests[K][0], answer: (reply: ReplyTo<K> | ErrorMessage) => void, bound = true,
  ): void {
    if (this.#over) return answer(this.#over);
    const id = this.#nextId++;
    const packed = pack({ ...fields, type, id } as ClientMessage, this.#encoding);
    const { env } = fields as { env?: number };
    this.#pending.set(id, { packed, bound, env, answer: answer as PendingRequest['answer'] });
    this.#connection?.send(packed);
  }

  /**
   * Sends a request and returns its reply.
   * @throws LudexError if the reply is an `error`, or the connection cannot be restored.
   */
  call<K extends Kind>(type: K, fields: Requests[K][0], bound = true): Promise<ReplyTo<K>> {
    return new Promise((resolve, reject) => {
      const answer = (reply: ReplyTo<K> | ErrorMessage) =>
        reply.type === 'error' ? reject(new LudexError(reply)) : resolve(reply);
      this.post(type, fields, answer, bound);
    });
  }

  /** Frees the environments on the server and ends the session; pending requests fail. */
  close(): void {
    for (const env of this.envs.keys()) this.post('close', { env }, () => {});
    this.#end(failure('connection_lost', 'session is closed', { fault: 'client' }));
  }

  #end(error: ErrorMessage): void {
    if (this.#over) return;
    this.#over = error;
    clearInterval(this.#clock);
    this.#connection?.close();
    this.#connection = undefined;
    this.#wake();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { answer } of pending) answer(error);
    this.handler.onFailed?.(new LudexError(error));
  }

  // ---- connections

  get #patienceMs(): number {
    return this.options.patience_ms ?? this.welcome?.limits?.grace_ms ?? 60_000;
  }

  /** Tries the servers in order until a server sends `welcome`. */
  async #connect(patienceMs: number): Promise<void> {
    const end = Date.now() + patienceMs;
    let pauseMs = MIN_PAUSE_MS;
    for (let attempt = 1; ; attempt++) {
      const url = this.#cell ?? this.#urls[(attempt - 1) % this.#urls.length]!;
      const error = await this.#hello(url);
      if (this.#over) throw new LudexError(this.#over);
      if (!error) return;
      // Without a URL, the next owner of the cell may have another one.
      this.#cell = error.moved && normalUrl(error.moved.at);
      pauseMs = Math.max(pauseMs, error.after_ms ?? 0);
      const late = Date.now() + pauseMs > end;
      if (!(error.retry || this.#cell) || late) {
        this.#end(error.retry ? failure('connection_lost', `no response from ${url}: ${error.message}`) : error);
        throw new LudexError(this.#over!);
      }
      if (attempt % this.#urls.length === 0) {
        await this.#pause(pauseMs);
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
      }
    }
  }

  /** Opens a connection and sends `hello`. Returns the error if the connection fails. */
  #hello(url: string): Promise<ErrorMessage | undefined> {
    return new Promise((resolve) => {
      const fail = (error: ErrorMessage) => {
        clearTimeout(timer);
        connection.close();
        resolve(error);
      };
      this.#wake = () => fail(this.#over!);
      const late = failure('connection_lost', `no welcome within ${CONNECT_MS / 1_000} s`, { retry: true });
      const timer = setTimeout(() => fail(late), CONNECT_MS);
      const connection = new Connection(url, this.#encoding, {
        onOpen: () => connection.send(pack(this.#greeting(), this.#encoding)),
        onMessage: (message) => {
          if (this.#over) return connection.close();
          if (this.#connection === connection) return this.#receive(message);
          if (message.type === 'error') return fail(message);
          if (message.type !== 'welcome') return;
          clearTimeout(timer);
          resolve(undefined);
          this.#wake = () => {};
          this.#connection = connection;
          this.#welcomed(message);
        },
        onClose: (code, reason, error) => {
          if (code === IDLE) this.#resumable = false;
          const fatal = error?.code ?? FATAL[code];
          const why = failure(fatal ?? 'connection_lost', error?.message ?? reason, { retry: !fatal });
          if (this.#connection !== connection) return fail(why);
          this.#connection = undefined;
          if (fatal) return this.#end(why);
          this.handler.onLost?.();
          this.#reconnect(code === RATE ? this.#restMs || 1_000 : 0);
        },
      }, this.options.ca);
    });
  }

  #reconnect(pauseMs: number): void {
    this.#restMs = 0;
    // A failure reaches the handler and the pending requests.
    const connect = () => this.#connect(this.#patienceMs);
    this.#pause(pauseMs).then(connect).catch(() => {});
  }

  #greeting(): ClientMessage {
    const { welcome, handler } = this;
    const hello: Hello = { protocol: [1], client: CLIENT, token: this.options.token, agent: handler.agent };
    if (welcome && this.#resumable) {
      hello.resume = { session: welcome.session, key: welcome.key, seen: this.seen.frames() };
    }
    // If the session no longer exists, the name reclaims the player's seats.
    if (handler.reclaim || (welcome && handler.onEvent && !this.#moving)) hello.reclaim = true;
    return { type: 'hello', id: HELLO_ID, ...hello };
  }

  #welcomed(welcome: Welcome): void {
    this.welcome = welcome;
    this.#resumable = true;
    this.#silentTicks = 0;
    if (this.#moving) {
      this.#moving = false;
      for (const { packed } of this.#pending.values()) this.#connection?.send(packed);
      return;
    }
    // A session survives a restart of the server, environments do not. A request for a lost environment must not reach a
    // new environment with the same number.
    const gone = [...this.envs.keys()].filter((env) => !welcome.resumed || !welcome.envs?.includes(env));
    for (const env of gone) this.envs.delete(env);
    const lost: PendingRequest[] = [];
    for (const [id, request] of this.#pending) {
      const { packed, bound, env } = request;
      if (welcome.resumed ? env === undefined || !gone.includes(env) : !bound) {
        this.#connection?.send(packed);
      } else {
        this.#pending.delete(id);
        lost.push(request);
      }
    }
    this.handler.onWelcome?.(welcome);
    const error = failure('session_lost', 'session or environment no longer exists on the server; open it again');
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

  /** Starts a session in another cell, and sends the pending requests there. */
  #move(cell: string): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#cell = normalUrl(cell);
    this.#resumable = false;
    this.#moving = true;
    this.#reconnect(0);
  }

  /** Sends a ping after a long silence. If no reply arrives, drops the connection. */
  #checkSilence(): void {
    // Counts ticks instead of time, because a busy agent can block the thread while messages arrive.
    this.#silentTicks++;
    if (!this.#connection) return;
    if (this.#silentTicks === MAX_SILENT_TICKS) this.post('ping', {}, () => {});
    if (this.#silentTicks < 2 * MAX_SILENT_TICKS) return;
    this.#connection.close();
    this.#connection = undefined;
    this.handler.onLost?.();
    this.#reconnect(0);
  }

  // ---- messages

  #receive(message: ServerMessage): void {
    this.#silentTicks = 0;
    if (message.type === 'error') this.#restMs = Math.max(this.#restMs, message.after_ms ?? 0);
    if (message.re != null) {
      if (message.type === 'joined' || message.type === 'enrolled') this.#seated = true;
      const stays = this.#seated || this.envs.size > 0;
      if (message.type === 'error' && message.moved && this.#pending.has(message.re) && !stays) {
        return this.#move(message.moved.at);
      }
      // Ignores a second reply to the same request.
      const pending = this.#pending.get(message.re);
      this.#pending.delete(message.re);
      pending?.answer(message);
    } else if (message.type === 'ping') {
      this.#connection?.send(pack({ type: 'pong', nonce: message.nonce }, this.#encoding));
    } else if (message.type === 'error') {
      if (!message.retry) this.#end(message);
    } else {
      this.handler.onEvent?.(message as EventMessage);
    }
  }
}
