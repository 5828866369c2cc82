// A bot that plays random legal moves: node dist/examples/bot.js [URL]
import { play } from '../src/index.js'; // in your own program: from 'ludex'

const { LUDEX_URL, LUDEX_TOKEN, LUDEX_AGENT, LUDEX_GAME = 'tic_tac_toe', LUDEX_ENCODING } = process.env;
const results = await play(process.argv[2] ?? LUDEX_URL ?? 'ws://127.0.0.1:7878', {
  game: LUDEX_GAME,
  against: 'random',
  agent: ({ legal }) => legal[Math.floor(Math.random() * legal.length)]!,
  name: LUDEX_AGENT,
  token: LUDEX_TOKEN,
  encoding: LUDEX_ENCODING === 'json' ? 'json' : 'msgpack',
});
for (const { match, reason, returns } of results) console.log(match, reason, ...returns);
