// Runs `ludex check client` on the example bot: cuts at every message, resync, restarts, several seats, runs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { ludex, withoutServer } from './server.js';

const bot = fileURLToPath(new URL('../examples/bot.js', import.meta.url));

// Node 20 requires a flag for the global WebSocket.
const transports = {
  'MessagePack and the package ws': {},
  'JSON and the WebSocket of Node': { LUDEX_ENCODING: 'json', NODE_OPTIONS: '--experimental-websocket --no-warnings' },
};
for (const [name, env] of Object.entries(transports)) {
  test(`example bot passes ludex check client: ${name}`, { skip: withoutServer }, async () => {
    const { stdout } = await ludex(['check', 'client', '--level', 'runs', '--', process.execPath, bot, '{url}'], env);
    assert.match(stdout, /^ok section 7: comes back after a cut at every message$/m);
    assert.match(stdout, /^ok section 12: plays several seats in a run$/m);
    const cells = ['check', 'client', '--level', 'cells', '--only', 'another cell'];
    const followed = await ludex([...cells, '--', process.execPath, bot, '{url}'], env);
    assert.match(followed.stdout, /^ok section 7: follows its queue to another cell$/m);
  });
}
