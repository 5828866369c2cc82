// A real server for each test, and a browser whose errors fail the test.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { test as base, expect, type Page } from '@playwright/test';

const program = process.env.LUDEX_BIN ?? fileURLToPath(new URL('../../target/debug/ludex', import.meta.url));

const freePort = () => new Promise<number>((resolve) => {
  const probe = createServer();
  probe.listen(0, '127.0.0.1', () => {
    const { port } = probe.address() as { port: number };
    probe.close(() => resolve(port));
  });
});

export class Server {
  #process?: ChildProcess;
  private constructor(readonly port: number, readonly data: string, readonly more: string[]) {}

  static async start(...more: string[]): Promise<Server> {
    const server = new Server(await freePort(), mkdtempSync(join(tmpdir(), 'ludex-web-')), more);
    await server.begin();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async begin(): Promise<void> {
    const args = ['serve', '--listen', `127.0.0.1:${this.port}`, '--data', this.data, '--limit', 'pages_per_s=0', ...this.more];
    this.#process = spawn(program, args, { stdio: 'ignore' });
    for (;;) {
      try {
        if ((await fetch(`${this.url}/health`)).ok) return;
      } catch {
        if (this.#process.exitCode !== null) throw new Error('server did not start');
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    const process = this.#process!;
    const ended = new Promise((resolve) => process.once('exit', resolve));
    process.kill('SIGKILL');
    await ended;
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
  }

  /** Runs another command of the program and returns its output. */
  run(...args: string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      let out = '';
      child.stdout.on('data', (part: Buffer) => (out += part));
      child.on('exit', (code) => (code === 0 ? resolve(out) : reject(new Error(`${args.join(' ')}: ${code}`))));
    });
  }
}

/** Collects console errors and requests to other hosts. */
export function watch(page: Page, server: Server): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !url.startsWith('data:')) faults.push(`request: ${url}`);
  });
  return faults;
}

export const test = base.extend<{ options: string[]; server: Server; faults: string[] }>({
  /** More options for `ludex serve`. */
  options: [[], { option: true }],
  server: async ({ options }, use) => {
    const server = await Server.start(...options);
    await use(server);
    await server.end();
  },
  faults: async ({ page, server }, use) => {
    const faults = watch(page, server);
    await use(faults);
    expect(faults).toEqual([]);
  },
});
export { expect };
