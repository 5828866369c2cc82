// A TCP proxy between client and server that can cut the connection at a WebSocket message.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A cut of the connection before or after one message. */
export interface Cut {
  from: 'client' | 'server';
  /** Number of the message, from 1, over all connections. */
  message: number;
  when: 'before' | 'after';
}

export class Proxy {
  /** Number of forwarded messages. */
  readonly passed = { client: 0, server: 0 };
  /** Bodies of the forwarded messages of the client. */
  readonly sent: Buffer[] = [];
  cuts = 0;
  readonly #listener: Server;
  readonly #open = new Set<Socket>();

  private constructor(target: string, readonly plan: Cut | undefined) {
    const { hostname, port } = new URL(target);
    this.#listener = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const socket of [near, far]) {
        socket.setNoDelay();
        socket.on('error', () => {});
        socket.on('close', () => {
          this.#open.delete(socket);
          near.destroy();
          far.destroy();
        });
        this.#open.add(socket);
      }
      this.#relay(near, far, 'client');
      this.#relay(far, near, 'server');
    });
  }

  static async start(target: string, plan?: Cut): Promise<Proxy> {
    const proxy = new Proxy(target, plan);
    proxy.#listener.listen(0, '127.0.0.1');
    await once(proxy.#listener, 'listening');
    return proxy;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** Cuts all current connections. */
  cut(): void {
    this.cuts++;
    for (const socket of this.#open) socket.destroy();
  }

  /** Stops all traffic of the current connections without closing them. */
  freeze(): void {
    for (const socket of this.#open) socket.pause();
  }

  stop(): void {
    this.#listener.close();
    for (const socket of this.#open) socket.destroy();
  }

  #relay(source: Socket, target: Socket, from: Cut['from']): void {
    let buffer = Buffer.alloc(0);
    let upgraded = false;
    source.on('data', (data) => {
      buffer = Buffer.concat([buffer, data]);
      for (;;) {
        const end = upgraded ? frameEnd(buffer) : buffer.indexOf('\r\n\r\n') + 4;
        if (end < 4 - 2 * Number(upgraded) || end > buffer.length || source.destroyed) return;
        const part = buffer.subarray(0, end);
        buffer = buffer.subarray(end);
        const isMessage = upgraded && (part[0]! & 0x0f) < 3;
        upgraded = true;
        if (isMessage && this.#cutsHere(from, 'before')) return this.cut();
        target.write(part);
        if (!isMessage) continue;
        this.passed[from]++;
        if (from === 'client') this.sent.push(unmasked(part));
        // Flushes the written bytes before closing.
        if (this.#cutsHere(from, 'after')) return void target.end(() => this.cut());
      }
    });
  }

  #cutsHere(from: Cut['from'], when: Cut['when']): boolean {
    const { plan } = this;
    if (!plan || this.cuts > 0 || plan.from !== from || plan.when !== when) return false;
    return this.passed[from] + Number(when === 'before') === plan.message;
  }
}

/** Returns the offset of a frame's body, after the header, extended length and mask. */
function bodyStart(frame: Buffer): number {
  const length = frame[1]! & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (frame[1]! & 0x80 ? 4 : 0);
}

/** Returns the end of the first frame in a buffer; 0 if its header is incomplete. */
function frameEnd(buffer: Buffer): number {
  if (buffer.length < 2 || buffer.length < bodyStart(buffer)) return 0;
  const length = buffer[1]! & 0x7f;
  const body = length === 126 ? buffer.readUInt16BE(2) : length === 127 ? Number(buffer.readBigUInt64BE(2)) : length;
  return bodyStart(buffer) + body;
}

function unmasked(frame: Buffer): Buffer {
  const start = bodyStart(frame);
  return Buffer.from(frame.subarray(start).map((byte, i) => byte ^ frame[start - 4 + (i % 4)]!));
}
