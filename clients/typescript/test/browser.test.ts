// The client in a browser: a page in Chromium plays matches, steps environments, and reports the results.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Server, withoutServer } from './server.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const chromium = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'chromium')).find((path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
});

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

const page = (url: string) => `<!doctype html>
<script type="importmap">
  { "imports": { "@msgpack/msgpack": "/node_modules/@msgpack/msgpack/dist.esm/index.mjs" } }
</script>
<script type="module">
  const report = (results) => fetch('/report', { method: 'POST', body: JSON.stringify(results) });
  try {
    const { Client, play } = await import('/dist/src/index.js');
    const reports = {};
    for (const encoding of ['msgpack', 'json']) {
      const agent = async ({ legal }) => legal[0];
      const results = await play('${url}', { game: 'tic_tac_toe', against: 'random', games: 2, encoding, agent });
      const client = await Client.connect('${url}', { encoding });
      const env = await client.open('connect_four', { count: 2, autoreset: 'same_step' });
      await env.reset({ seed: 1 });
      const { length, obs, mask } = await env.step([3, 0]);
      const [snapshot] = await env.snapshot([1]);
      const restored = await env.restore([snapshot], [0]);
      const refused = await env.step([3, 9]).catch(({ code, index }) => ({ code, index }));
      client.close();
      reports[encoding] = {
        reasons: results.map(({ reason }) => reason),
        length: [...length, ...restored.length], mask: mask.length, board: [...obs.board.data.slice(42, 84)], refused,
      };
    }
    await report(reports);
  } catch (error) {
    await report({ error: String(error.stack ?? error) });
  }
</script>`;

const skip = withoutServer || (chromium ? false : 'chromium is missing');

test('a page in Chromium plays a match and steps environments', { skip }, async () => {
  const server = await Server.start();
  const host = createServer();
  const types: Record<string, string> = { js: 'text/javascript', mjs: 'text/javascript' };
  const reported = new Promise<Record<string, any>>((resolve, reject) => {
    host.on('request', async (request, response) => {
      const path = new URL(request.url!, 'http://localhost').pathname;
      if (path === '/report') {
        let body = '';
        for await (const part of request) body += part;
        response.end();
        resolve(JSON.parse(body));
      } else if (path === '/') {
        response.setHeader('content-type', 'text/html').end(page(server.url));
      } else {
        const type = types[path.split('.').pop()!];
        const file = type && !path.includes('..') && (await readFile(join(root, path)).catch(() => undefined));
        if (!file && path !== '/favicon.ico') reject(new Error(`unexpected request for ${path}`));
        response.writeHead(file ? 200 : 404, { 'content-type': type ?? 'text/plain' }).end(file || '');
      }
    });
  });
  void host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  const profile = await mkdtemp(join(tmpdir(), 'ludex-chromium-'));
  const address = `http://127.0.0.1:${(host.address() as AddressInfo).port}/`;
  const flags = [...FLAGS, `--user-data-dir=${profile}`, address];
  const browser = spawn(chromium!, flags, { stdio: 'ignore', timeout: 60_000 });
  const exited = once(browser, 'exit');
  try {
    const failed = exited.then(([code]) => Promise.reject(new Error(`chromium exited with ${code}`)));
    const result = await Promise.race([reported, failed]);
    assert.equal(result.error, undefined);
    const { reasons, length, refused, board } = result.msgpack;
    assert.deepEqual([reasons, length], [['finished', 'finished'], [1, 1, 1]]);
    assert.deepEqual(refused, { code: 'illegal_action', index: 1 });
    assert.equal(board.filter((cell: number) => cell === 1).length, 1);
    assert.deepEqual(result.json, result.msgpack);
  } finally {
    browser.kill();
    await exited;
    host.close();
    await rm(profile, { recursive: true, maxRetries: 3 });
    await server.stop();
  }
});
