// TLS with a certificate of one's own, a closed client, and what is said when one end does not speak TLS.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client, LudexError } from '../src/index.js';
import { Server, withoutServer } from './server.js';

const pem = (name: string) => fileURLToPath(new URL(`../../../../tests/data/tls/${name}.pem`, import.meta.url));
// If it were tried again, the test would not end.
const forever = { patience_ms: 3_600_000 };

describe('TLS', { skip: withoutServer, timeout: 60_000 }, () => {
  let server: Server;
  let url: string;

  before(async () => {
    server = await Server.start('--tls-cert', pem('cert'), '--tls-key', pem('key'));
    url = server.url.replace('127.0.0.1', 'localhost');
  });

  after(() => server.stop());

  test('a certificate of its own is trusted when it is named', async () => {
    const client = await Client.connect(url, { ...forever, ca: await readFile(pem('cert'), 'utf8') });
    assert.ok((await client.games()).length > 0);
    client.close();
    process.env.SSL_CERT_FILE = pem('cert');
    const again = await Client.connect(url, forever);
    again.close();
    delete process.env.SSL_CERT_FILE;
  });

  test('what is wrong is said at once', { skip: Number(process.versions.node.split('.')[0]) > 20 }, async () => {
    const plain = await Server.start();
    for (const [at, why] of [
      [url, /ca \(PEM\)/],
      [url.replace('wss:', 'ws:'), /use wss:\/\/ instead of ws:\/\//],
      [plain.url.replace('ws:', 'wss:'), /use ws:\/\/ instead of wss:\/\//],
    ] as const) {
      await assert.rejects(Client.connect(at, forever), (error: LudexError) => error.code === 'tls' && why.test(error.message));
    }
    await plain.stop();
  });

  test('a closed client fails at once, also while others wait for their replies', async () => {
    const client = await Client.connect(url, { ...forever, ca: await readFile(pem('cert'), 'utf8') });
    const env = await client.open('connect_four');
    // Calls share one thread, so they need no lock: each reply goes to its own call.
    const [spec, games] = [client.describe('nim'), client.games()];
    assert.deepEqual([(await spec).game, (await games).length > 1], ['nim', true]);
    client.close();
    await assert.rejects(env.reset(), /closed/);
  });
});
