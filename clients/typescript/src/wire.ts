// One WebSocket connection, and the two message encodings.

import { decode, encode } from '@msgpack/msgpack';

import { toBase64 } from './columns.js';
import { failure, LudexError } from './errors.js';
import type { ClientMessage, ServerMessage } from './messages.js';
import { advice, trustedCertificates } from './tls.js';

export type Encoding = 'msgpack' | 'json';
export type Packed = string | Uint8Array<ArrayBuffer>;

/** Encodes a message. Omits `undefined` fields, and encodes typed arrays as columns and `Uint8Array`s as bytes. */
export function pack(message: ClientMessage, encoding: Encoding): Packed {
  if (encoding === 'msgpack') return encode(message, { ignoreUndefined: true });
  return JSON.stringify(message, (_, value: unknown) => {
    if (value instanceof Uint8Array) return toBase64(value);
    return ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : value;
  });
}

/**
 * Decodes a message.
 * @throws LudexError `protocol` if the data is not a valid message.
 */
export function unpack(data: string | ArrayBuffer | Uint8Array): ServerMessage {
  let message: unknown;
  try {
    message = typeof data === 'string' ? JSON.parse(data) : decode(data);
  } catch (error) {
    throw new LudexError(failure('protocol', `cannot decode a message of the server: ${error}`));
  }
  if (typeof (message as ServerMessage | null)?.type === 'string') return message as ServerMessage;
  throw new LudexError(failure('protocol', 'expected a message with a type from the server'));
}

/**
 * Converts `host:port`, `http(s)://` and `ws(s)://` to a WebSocket URL.
 * @throws LudexError `bad_field` if `text` is none of these.
 */
export function normalUrl(text: string): string {
  try {
    const url = new URL(text.includes('://') ? text : `ws://${text}`);
    url.protocol = url.protocol.replace(/^http/, 'ws');
    if (/^wss?:$/.test(url.protocol) && url.hostname) return url.href.replace(/#.*/, '');
  } catch {
    // Falls through to the error below.
  }
  const why = `url: expected host:port, ws://, wss://, http:// or https://, got ${text}`;
  throw new LudexError(failure('bad_field', why, { fault: 'client', path: 'url', got: text }));
}

/** Callbacks of a connection. */
export interface ConnectionHandler {
  onOpen(): void;
  onMessage(message: ServerMessage): void;
  /**
   * Called once, after all other calls, when the connection ends. `error` is set if a retry cannot help because a
   * message could not be decoded or TLS failed.
   */
  onClose(code: number, reason: string, error?: LudexError): void;
}

/**
 * Returns a function that opens a socket. The socket is the global WebSocket (browsers, Node >= 22) or that of the
 * package `ws`, which is required for additional certificates.
 */
async function socketFactory(own?: string): Promise<(url: string, protocol: string) => WebSocket> {
  const ca = await trustedCertificates(own);
  if (typeof WebSocket !== 'undefined' && !ca) return (url, protocol) => new WebSocket(url, protocol);
  const { WebSocket: Socket } = await import('ws');
  const options = { perMessageDeflate: false, maxPayload: 0, ca };
  return (url, protocol) => new Socket(url, protocol, options) as unknown as WebSocket;
}

/** One connection, from the attempt to its end. */
export class Connection {
  #socket?: WebSocket;
  #handler?: ConnectionHandler;

  /** Starts to connect; `ca` has additional trusted certificates as PEM. */
  constructor(readonly url: string, encoding: Encoding, handler: ConnectionHandler, ca?: string) {
    this.#handler = handler;
    socketFactory(ca)
      .then((open) => this.#handler && this.#attach(open(url, `ludex.v1.${encoding}`)))
      .catch((error) => this.#end(1006, String(error)));
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    let open = false;
    socket.onopen = () => {
      open = true;
      this.#handler?.onOpen();
    };
    socket.onmessage = ({ data }) => {
      let message: ServerMessage;
      try {
        message = unpack(data as string | ArrayBuffer);
      } catch (error) {
        return this.#end(1002, 'unreadable', error as LudexError);
      }
      this.#handler?.onMessage(message);
    };
    // An error on an open connection is followed by a close event with a code; in Node 22, a failed attempt is not.
    let why = 'connection failed';
    socket.onerror = (event) => {
      why = (event as ErrorEvent).message || why;
      if (open) return;
      const what = advice(this.url, why);
      this.#end(1006, why, what === undefined ? undefined : new LudexError(failure('tls', what, { fault: 'client' })));
    };
    socket.onclose = ({ code, reason }) => this.#end(code, reason || why);
  }

  #end(code: number, reason: string, error?: LudexError): void {
    const handler = this.#handler;
    this.close();
    handler?.onClose(code, reason, error);
  }

  /** Sends a message. Does nothing if the connection has ended. */
  send(packed: Packed): void {
    if (this.#socket?.readyState === 1) this.#socket.send(packed);
  }

  /** Closes the connection without waiting; the handler is not called again. */
  close(): void {
    const socket = this.#socket;
    this.#handler = undefined;
    this.#socket = undefined;
    if (!socket) return;
    // Closing a connecting socket is an error, which Node 22 reports within `close`.
    socket.onopen = socket.onmessage = socket.onerror = socket.onclose = () => {};
    socket.close();
  }
}
