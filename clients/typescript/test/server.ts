// A server for tests: the program in LUDEX_BIN.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const program = process.env.LUDEX_BIN;

/** Value for `skip` of tests that need the program. */
export const withoutServer = program ? false : 'LUDEX_BIN is not set';

/** The program of the example crate with its own games. */
export const ownGame = process.env.OWN_GAME_BIN;

/** Runs another command of the program. */
export const ludex = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(program!, args, { env: { ...process.env, ...env } });

export class Server {
  url = '';
  #data = '';
  #process?: ChildProcess;

  #args: string[] = [];
  #program = program;

  static async start(...args: string[]): Promise<Server> {
    const server = new Server();
    server.#args = args;
    server.#data = await mkdtemp(join(tmpdir(), 'ludex-'));
    await server.run('127.0.0.1:0');
    return server;
  }

  /** Starts a server of another program. */
  static async of(other: string): Promise<Server> {
    const server = new Server();
    server.#program = other;
    server.#data = await mkdtemp(join(tmpdir(), 'ludex-'));
    await server.run('127.0.0.1:0');
    return server;
  }

  /** Starts the program. To restart after `kill`, pass the same address: `new URL(server.url).host`. */
  async run(listen: string): Promise<void> {
    const args = ['serve', '--listen', listen, '--data', this.#data, '--json', ...this.#args];
    this.#process = spawn(this.#program!, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await once(createInterface(this.#process.stdout!), 'line');
    this.url = JSON.parse(line).url;
  }

  /** Kills the program, as in a crash. */
  async kill(): Promise<void> {
    this.#process!.kill('SIGKILL');
    await once(this.#process!, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#data, { recursive: true });
  }
}
