// One WebSocket, with messages in one of the two encodings.

import { decode, encode } from '@msgpack/msgpack';

import { toBase64 } from './columns.js';
import { failure, LudexError } from './errors.js';
import type { ClientMessage, ServerMessage } from './messages.js';
import { advice, trusted } from './tls.js';

export type Encoding = 'msgpack' | 'json';
export type Packed = string | Uint8Array<ArrayBuffer>;

/** Encodes a message; `undefined` fields are left out, typed arrays become columns, `Uint8Array`s become bytes. */
export function pack(message: ClientMessage, encoding: Encoding): Packed {
  if (encoding === 'msgpack') return encode(message, { ignoreUndefined: true });
  return JSON.stringify(message, (_, value: unknown) => {
    if (value instanceof Uint8Array) return toBase64(value);
    return ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : value;
  });
}

/**
 * Decodes a message.
 * @throws LudexError `protocol` if it is not a valid message.
 */
export function unpack(data: string | ArrayBuffer | Uint8Array): ServerMessage {
  let message: unknown;
  try {
    message = typeof data === 'string' ? JSON.parse(data) : decode(data);
  } catch (error) {
    throw new LudexError(failure('protocol', `the server sent a message that cannot be read: ${error}`));
  }
  if (typeof (message as ServerMessage | null)?.type === 'string') return message as ServerMessage;
  throw new LudexError(failure('protocol', 'the server sent a message without a type'));
}

/**
 * Turns `host:port`, `http(s)://` and `ws(s)://` into the URL of a WebSocket.
 * @throws LudexError `bad_field` if it is not the URL of a server.
 */
export function normalUrl(text: string): string {
  try {
    const url = new URL(text.includes('://') ? text : `ws://${text}`);
    url.protocol = url.protocol.replace(/^http/, 'ws');
    if (/^wss?:$/.test(url.protocol) && url.hostname) return url.href.replace(/#.*/, '');
  } catch {
    // Reported below.
  }
  const why = `${text} is not the URL of a server`;
  throw new LudexError(failure('bad_field', why, { fault: 'client', path: 'url', got: text }));
}

export interface Listener {
  opened(): void;
  received(message: ServerMessage): void;
  /**
   * The connection has ended. Called once, as the last call. `error` is set if trying again does not help: a message
   * could not be decoded, or TLS failed.
   */
  lost(code: number, reason: string, error?: LudexError): void;
}

/**
 * Returns a function that opens a socket: the global WebSocket (browsers, Node >= 22), or that of the package `ws`, which
 * alone takes certificates.
 */
async function opener(own?: string): Promise<(url: string, protocol: string) => WebSocket> {
  const ca = await trusted(own);
  if (typeof WebSocket !== 'undefined' && !ca) return (url, protocol) => new WebSocket(url, protocol);
  const { WebSocket: Socket } = await import('ws');
  const options = { perMessageDeflate: false, maxPayload: 0, ca };
  return (url, protocol) => new Socket(url, protocol, options) as unknown as WebSocket;
}

/** A connection, from the attempt to its end. */
export class Line {
  #socket?: WebSocket;
  #listener?: Listener;

  /** `ca`: certificates to trust, as PEM. */
  constructor(readonly url: string, encoding: Encoding, listener: Listener, ca?: string) {
    this.#listener = listener;
    opener(ca)
      .then((open) => this.#listener && this.#attach(open(url, `ludex.v1.${encoding}`)))
      .catch((error) => this.#end(1006, String(error)));
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    let open = false;
    socket.onopen = () => {
      open = true;
      this.#listener?.opened();
    };
    socket.onmessage = ({ data }) => {
      let message: ServerMessage;
      try {
        message = unpack(data as string | ArrayBuffer);
      } catch (error) {
        return this.#end(1002, 'unreadable', error as LudexError);
      }
      this.#listener?.received(message);
    };
    // After an error of an open connection, a close event with a code follows. In Node 22 none follows a failed attempt.
    let why = 'the connection broke';
    socket.onerror = (event) => {
      why = (event as ErrorEvent).message || why;
      if (open) return;
      const what = advice(this.url, why);
      this.#end(1006, why, what === undefined ? undefined : new LudexError(failure('tls', what, { fault: 'client' })));
    };
    socket.onclose = ({ code, reason }) => this.#end(code, reason || why);
  }

  #end(code: number, reason: string, error?: LudexError): void {
    const listener = this.#listener;
    this.cut();
    listener?.lost(code, reason, error);
  }

  /** Sends a message; does nothing if the connection has ended. */
  send(packed: Packed): void {
    if (this.#socket?.readyState === 1) this.#socket.send(packed);
  }

  /** Closes the connection without waiting for its end; the listener is not called again. */
  cut(): void {
    const socket = this.#socket;
    this.#listener = undefined;
    this.#socket = undefined;
    if (!socket) return;
    // Closing a socket that is not open yet is an error; Node 22 reports it within `close`.
    socket.onopen = socket.onmessage = socket.onerror = socket.onclose = () => {};
    socket.close();
  }
}
