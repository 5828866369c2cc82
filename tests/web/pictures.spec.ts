// Screenshots for the documentation, written by `npm run pictures`. No test compares them.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type Page } from '@playwright/test';

import { finger, mouse, Person, sit } from './person.js';
import { expect, type Server, test } from './server.js';

const folder = process.env.PICTURES!;

/** Saves a screenshot as WebP, encoded by Chromium. */
async function take(page: Page, name: string, width: number, scheme: 'light' | 'dark' = 'light'): Promise<void> {
  await page.setViewportSize({ width, height: width < 600 ? 740 : 800 });
  await page.emulateMedia({ colorScheme: scheme });
  await page.waitForLoadState('networkidle');
  const png = (await page.screenshot()).toString('base64');
  const encoder = await page.context().newPage();
  const webp = await encoder.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext('2d')!.drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.8);
  }, png);
  await encoder.close();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(webp.split(',')[1]!, 'base64'));
}

/** Plays matches with a built-in agent. */
const joins = (server: Server, game: string, agent: string, name: string, ...more: string[]) =>
  server.run('join', server.url.replace('http', 'ws'), '--game', game, '--agent', agent, '--name', name, ...more);

const newest = async (server: Server, game: string): Promise<string> =>
  (await (await fetch(`${server.url}/matches?live=false&game=${game}`)).json()).matches[0].match;

test.use({ options: ['--ladder', 'connect_four'] });

test('screenshots', async ({ page, browser, server }) => {
  test.setTimeout(1_200_000);
  await joins(server, 'connect_four', 'mcts sims=1000', 'Ada', '--rated', '--matches', '6', '--against', 'anchor level=2');
  await joins(server, 'connect_four', 'mcts sims=100', 'Grace', '--rated', '--matches', '6', '--against', 'anchor level=1');
  await joins(server, 'reversi', 'mcts sims=300', 'Ada', '--against', 'anchor level=1');
  await joins(server, 'chess', 'alphabeta depth=2', 'Grace', '--against', 'anchor level=1');
  await joins(server, 'texas_holdem', 'random', 'Grace', '--against', 'random');
  const at = (path: string) => page.goto(server.url + path);

  await at('/');
  await take(page, 'home', 1440);
  await at('/games/connect_four');
  await take(page, 'game', 1440, 'dark');
  await at(`/matches/${await newest(server, 'chess')}#24`);
  await take(page, 'match', 1440);
  await at(`/matches/${await newest(server, 'reversi')}#31`);
  await take(page, 'match-phone', 360, 'dark');
  await at('/matches');
  await take(page, 'matches', 768);
  await at('/agents/Ada');
  await take(page, 'agent', 768, 'dark');
  await at('/ladders/connect_four');
  await take(page, 'ladder', 768);
  await at('/runs');
  await take(page, 'runs', 768);
  await at('/login');
  await take(page, 'login', 360);
  await at('/games/ches');
  await take(page, 'missing', 360, 'dark');

  for (const [game, hands, touches, scheme] of [
    ['hanabi', finger, ['p1', '1', 'p0.0'], 'light'],
    ['go(preset=small)', finger, ['e5', 'c3', 'g7', 'c7', 'g3', 'd4'], 'dark'],
    ['chess', mouse, ['e2', 'e4', 'd2', 'd4', 'g1'], 'light'],
  ] as const) {
    const person = await Person.arrive(browser, hands, () => '');
    await sit(person, server, game, 'anchor level=1', game === 'chess' ? '1' : '0');
    for (const cell of touches) {
      await expect(person.page.locator('#status')).toHaveText('Your turn.');
      // Skips cells that are no longer legal.
      const target = person.page.locator(`#board .cell.legal[data-cell="${cell}"]`).last();
      if (await target.count()) await hands.touch(person.page, target);
    }
    await expect(person.page.locator('#status')).toHaveText('Your turn.');
    await take(person.page, `play-${game.split('(')[0]}`, hands === finger ? 360 : 1440, scheme);
    await person.page.context().close();
  }
});
