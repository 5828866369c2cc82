// TLS with a private certificate, advice for TLS failures, and closed clients.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client, LudexError } from '../src/index.js';
import { Server, withoutServer } from './server.js';

const pem = (name: string) => fileURLToPath(new URL(`../../../../tests/data/tls/${name}.pem`, import.meta.url));
// A retry would exceed the test's timeout.
const noLimit = { patience_ms: 3_600_000 };

describe('TLS', { skip: withoutServer, timeout: 60_000 }, () => {
  let server: Server;
  let url: string;

  before(async () => {
    server = await Server.start('--tls-cert', pem('cert'), '--tls-key', pem('key'));
    url = server.url.replace('127.0.0.1', 'localhost');
  });

  after(() => server.stop());

  test('option ca or SSL_CERT_FILE makes a private certificate trusted', async () => {
    const client = await Client.connect(url, { ...noLimit, ca: await readFile(pem('cert'), 'utf8') });
    assert.ok((await client.games()).length > 0);
    client.close();
    process.env.SSL_CERT_FILE = pem('cert');
    const again = await Client.connect(url, noLimit);
    again.close();
    delete process.env.SSL_CERT_FILE;
  });

  test('TLS errors fail immediately with advice', { skip: Number(process.versions.node.split('.')[0]) > 20 }, async () => {
    const plain = await Server.start();
    for (const [at, why] of [
      [url, /ca \(PEM\)/],
      [url.replace('wss:', 'ws:'), /use wss:\/\/ instead of ws:\/\//],
      [plain.url.replace('ws:', 'wss:'), /use ws:\/\/ instead of wss:\/\//],
    ] as const) {
      await assert.rejects(Client.connect(at, noLimit), (error: LudexError) => error.code === 'tls' && why.test(error.message));
    }
    await plain.stop();
  });

  test('requests of a closed client fail immediately', async () => {
    const client = await Client.connect(url, { ...noLimit, ca: await readFile(pem('cert'), 'utf8') });
    const env = await client.open('connect_four');
    // Concurrent calls get their own replies.
    const [spec, games] = [client.describe('nim'), client.games()];
    assert.deepEqual([(await spec).game, (await games).length > 1], ['nim', true]);
    client.close();
    await assert.rejects(env.reset(), /closed/);
  });
});
