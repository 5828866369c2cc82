// A bot that plays random legal moves: node dist/examples/bot.js [URL]. With LUDEX_SUITE, it plays that suite.
import { evaluate, play, type Turn } from '../src/index.js'; // in your program: from 'ludex'

const { LUDEX_URL, LUDEX_TOKEN, LUDEX_AGENT, LUDEX_GAME = 'tic_tac_toe', LUDEX_ENCODING } = process.env;
const { LUDEX_SUITE, LUDEX_RUN } = process.env;
const url = process.argv[2] ?? LUDEX_URL ?? 'ws://127.0.0.1:7878';
const agent = ({ legal }: Turn) => legal[Math.floor(Math.random() * legal.length)]!;
const encoding: 'json' | 'msgpack' = LUDEX_ENCODING === 'json' ? 'json' : 'msgpack';
const options = { token: LUDEX_TOKEN, encoding };

if (LUDEX_SUITE) {
  const name = LUDEX_AGENT ?? 'typescript-bot';
  const enrolment = { suite: LUDEX_SUITE, run: LUDEX_RUN ?? name.toLowerCase().replaceAll('.', '-') };
  const on_progress = ({ done, due }: { done: number; due: number }) => console.log(`${done} finished, ${due} remaining`);
  const { reason, verdict, report } = await evaluate(url, enrolment, agent, { ...options, name, on_progress });
  console.log(reason, report, JSON.stringify(verdict, null, 2));
} else {
  const against = 'random';
  const results = await play(url, { ...options, game: LUDEX_GAME, against, agent, name: LUDEX_AGENT });
  for (const { match, reason, returns } of results) console.log(match, reason, ...returns);
}
