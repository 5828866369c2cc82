// Live matches, replays, and checks of every page.

import { expectAccessible, expectNoOverflow, WIDTHS } from './checks.js';
import { expect, type Server, test } from './server.js';

/** Plays a match between built-in agents and returns its id. */
async function playMatch(server: Server, game: string, agent: string): Promise<string> {
  await server.run('join', server.url.replace('http', 'ws'), '--game', game, '--agent', agent, '--against', 'random');
  const list = await (await fetch(`${server.url}/matches?live=false`)).json();
  return list.matches[0].match;
}

test('match page follows a live match and replays it', async ({ page, server, faults }) => {
  const slow = server.run('join', server.url.replace('http', 'ws'), '--game', 'connect_four', '--agent', 'mcts sims=30000',
    '--against', 'random');
  let live: { match: string }[] = [];
  await expect.poll(async () => {
    live = (await (await fetch(`${server.url}/matches`)).json()).matches;
    return live.length;
  }).toBe(1);
  await page.goto(`${server.url}/matches/${live[0]!.match}`);
  await expect(page.locator('#moves [data-at="3"]')).toBeVisible();
  await slow;
  await expect(page.locator('#verified')).toHaveText('Verified in this browser');
  const last = Number(await page.locator('#match').getAttribute('data-last'));
  await page.keyboard.press('Home');
  await expect(page.locator('#at')).toHaveText(`0 / ${last}`);
  const start = await page.locator('#board').innerHTML();
  await page.keyboard.press('ArrowRight');
  await expect(page.locator('#at')).toHaveText(`1 / ${last}`);
  await expect.poll(() => page.locator('#board').innerHTML()).not.toBe(start);
  expect(page.url()).toMatch(/#1$/);
  await page.goto(`${server.url}/matches/${live[0]!.match}#2`);
  await page.reload();
  await expect(page.locator('#at')).toHaveText(`2 / ${last}`);
  await page.locator('[data-step=last]').click();
  await expect(page.locator('#at')).toHaveText(`${last} / ${last}`);
  await page.locator('#speed').selectOption('300');
  await page.locator('[data-step=auto]').click();
  await expect(page.locator('#at')).toHaveText(`${last} / ${last}`);
  expect(faults).toEqual([]);
});

test('keys, slider, move list and link control the replay', async ({ page, server, faults }) => {
  const id = await playMatch(server, 'reversi', 'random');
  await page.goto(`${server.url}/matches/${id}#17`);
  const last = Number(await page.locator('#match').getAttribute('data-last'));
  const shows = async (at: number) => {
    await expect(page.locator('#at')).toHaveText(`${at} / ${last}`);
    await expect(page.locator('#slide')).toHaveValue(String(at));
    const picture = await (await fetch(`${server.url}/matches/${id}/picture.svg?at=${at}`)).text();
    await expect(page.locator('#board desc')).toHaveText(/<desc[^>]*>([^<]*)/.exec(picture)![1]!);
    expect(page.url()).toMatch(new RegExp(`#${at}$`));
  };
  await shows(17);
  for (const [key, at] of [['ArrowLeft', 16], ['Home', 0], ['ArrowRight', 1], ['End', last]] as const) {
    await page.keyboard.press(key);
    await shows(at);
  }
  const slide = page.locator('#slide');
  const { width, height } = (await slide.boundingBox())!;
  await slide.click({ position: { x: 1, y: height / 2 } });
  await shows(0);
  await page.keyboard.press('ArrowRight');
  await shows(1);
  await slide.click({ position: { x: width - 1, y: height / 2 } });
  await shows(last);
  await page.locator('#moves [data-at="5"] a').click();
  await shows(5);
  await page.evaluate(() => { location.hash = '#9'; });
  await shows(9);
  expect(faults).toEqual([]);
});

test('reduced motion disables all animation', async ({ page, server }) => {
  const moving = () => page.evaluate(() => [...document.querySelectorAll('*')].filter((element) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
    return transitionDuration.split(', ').some((time) => parseFloat(time) > 0) || animationName !== 'none' || scrollBehavior === 'smooth';
  }).length);
  for (const path of ['/', '/games/chess', '/play/chess']) {
    await page.goto(server.url + path);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(await moving()).toBeGreaterThan(0);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await moving()).toBe(0);
  }
});

test('every page is accessible at every width, in light and dark', async ({ page, server, faults }) => {
  test.setTimeout(600_000);
  const id = await playMatch(server, 'connect_four', 'random');
  const cards = await playMatch(server, 'leduc_poker', 'random');
  const paths = ['/', '/games/connect_four', '/games/chess', '/matches', `/matches/${id}`, `/matches/${cards}?seat=0`,
    '/agents/random', '/runs', '/ladders', '/play/chess', '/login'];
  for (const path of paths) {
    await page.goto(server.url + path);
    await page.waitForLoadState('networkidle');
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await expectNoOverflow(page);
        // Contrast does not depend on the width; the layout differs between phone and desktop only.
        if (width !== 768) await expectAccessible(page);
      }
    }
  }
  expect(faults).toEqual([]);
});

test('page for an unknown address suggests alternatives', async ({ page, server }) => {
  for (const [path, words] of [['/games/ches', 'Did you mean chess?'], ['/matches/m_0', 'Match not found'], ['/agents/%3Cscript%3E', 'Agent not found'], ['/runs/x', 'Run not found']] as const) {
    const answer = await page.goto(server.url + path);
    expect(answer!.status()).toBe(404);
    await expect(page.locator('main')).toContainText(words);
  }
});

test('search on the front page filters games', async ({ page, server, faults }) => {
  await page.goto(server.url);
  const all = await page.locator('.card:visible').count();
  await page.locator('#search').fill('poker');
  const some = await page.locator('.card:visible').count();
  expect(some).toBeGreaterThan(1);
  expect(some).toBeLessThan(all);
  expect(faults).toEqual([]);
});

test('login stores the token in a cookie that scripts cannot read', async ({ page, server }) => {
  const printed = await server.run('admin', 'token', 'add', '--data', server.data, '--owner', 'ada');
  const token = /lx_[\w-]+/.exec(printed)![0];
  await page.goto(`${server.url}/matches`);
  await page.locator('[name=token]').fill('lx_wrong');
  await page.locator('#login button').click();
  await expect(page.locator('#problem')).toContainText('unknown');
  await page.locator('[name=token]').fill(token);
  await page.locator('#login button').click();
  await expect(page.getByRole('heading', { name: 'Matches' })).toBeVisible();
  expect(page.url()).not.toContain('lx_');
  expect(await page.evaluate(() => document.cookie)).toBe('');
  // The WebSocket accepts the cookie too.
  await page.goto(`${server.url}/play/tic_tac_toe`);
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await expect(page.locator('#seats')).toContainText('ada');
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.goto(`${server.url}/matches`);
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible();
});
