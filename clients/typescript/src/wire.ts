// One WebSocket that carries messages in one of the two encodings.

import { decode, encode } from '@msgpack/msgpack';

import { toBase64 } from './columns.js';
import { failure, LudexError } from './errors.js';
import type { ClientMessage, ServerMessage } from './messages.js';

export type Encoding = 'msgpack' | 'json';
export type Packed = string | Uint8Array<ArrayBuffer>;

/** Writes a message; fields that are `undefined` are left out, typed arrays become columns, `Uint8Array`s bytes. */
export function pack(message: ClientMessage, encoding: Encoding): Packed {
  if (encoding === 'msgpack') return encode(message, { ignoreUndefined: true });
  return JSON.stringify(message, (_, value: unknown) => {
    if (value instanceof Uint8Array) return toBase64(value);
    return ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : value;
  });
}

/**
 * Reads a message.
 * @throws LudexError `protocol`, when it is none.
 */
export function unpack(data: string | ArrayBuffer | Uint8Array): ServerMessage {
  let message: unknown;
  try {
    message = typeof data === 'string' ? JSON.parse(data) : decode(data);
  } catch (error) {
    throw new LudexError(failure('protocol', `the server sent what cannot be read: ${error}`));
  }
  if (typeof (message as ServerMessage | null)?.type === 'string') return message as ServerMessage;
  throw new LudexError(failure('protocol', 'the server sent a message without a type'));
}

/**
 * Turns `host:port`, `http(s)://` and `ws(s)://` into the URL of a WebSocket.
 * @throws LudexError `bad_field`, if it is no URL of a server.
 */
export function normalUrl(text: string): string {
  try {
    const url = new URL(text.includes('://') ? text : `ws://${text}`);
    url.protocol = url.protocol.replace(/^http/, 'ws');
    if (/^wss?:$/.test(url.protocol) && url.hostname) return url.href.replace(/#.*/, '');
  } catch {
    // Said below.
  }
  const why = `${text} is no URL of a server`;
  throw new LudexError(failure('bad_field', why, { fault: 'client', path: 'url', got: text }));
}

export interface Listener {
  opened(): void;
  received(message: ServerMessage): void;
  /** The connection has ended; said once, and nothing after it. An error says that what came cannot be understood. */
  lost(code: number, reason: string, error?: LudexError): void;
}

/** How to open a socket: with the WebSocket of browsers and of Node >= 22, else with that of the package `ws`. */
async function opener(): Promise<(url: string, protocol: string) => WebSocket> {
  if (typeof WebSocket !== 'undefined') return (url, protocol) => new WebSocket(url, protocol);
  const { WebSocket: Socket } = await import('ws');
  const options = { perMessageDeflate: false, maxPayload: 0 };
  return (url, protocol) => new Socket(url, protocol, options) as unknown as WebSocket;
}

/** A connection, from the attempt to its end. */
export class Line {
  #socket?: WebSocket;
  #listener?: Listener;

  constructor(url: string, encoding: Encoding, listener: Listener) {
    this.#listener = listener;
    opener()
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
    // A close, with its code, follows every error of an open connection; in Node 22 none follows a failed attempt.
    let why = 'the line was cut';
    socket.onerror = (event) => {
      why = (event as ErrorEvent).message || why;
      if (!open) this.#end(1006, why);
    };
    socket.onclose = ({ code, reason }) => this.#end(code, reason || why);
  }

  #end(code: number, reason: string, error?: LudexError): void {
    const listener = this.#listener;
    this.cut();
    listener?.lost(code, reason, error);
  }

  /** Sends a message; on a connection that has ended it does nothing. */
  send(packed: Packed): void {
    if (this.#socket?.readyState === 1) this.#socket.send(packed);
  }

  /** Lets go of the connection without waiting for its end; the listener hears nothing more. */
  cut(): void {
    const socket = this.#socket;
    this.#listener = undefined;
    this.#socket = undefined;
    if (!socket) return;
    // To close what is not open yet is an error too, said within `close` by Node 22.
    socket.onopen = socket.onmessage = socket.onerror = socket.onclose = () => {};
    socket.close();
  }
}
