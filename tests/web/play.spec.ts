// A person plays: with the mouse, with a finger, with the keyboard; through a reload and a killed server.

import { type Page } from '@playwright/test';

import { expect, type Server, test, watch } from './server.js';

/** Sits down. */
async function sit(page: Page, server: Server, game: string, against: string, seat = '0'): Promise<void> {
  await page.goto(`${server.url}/play/${game}`);
  await page.selectOption('[name=against]', against);
  await page.selectOption('[name=seat]', seat);
  await page.getByRole('button', { name: 'Play', exact: true }).click();
}

const turn = (page: Page) => expect(page.locator('#status')).toHaveText('Your turn.');
const isOver = async (page: Page) => (await page.locator('#again').isVisible());

/** Waits until the person is to move or the match is over. */
async function next(page: Page): Promise<boolean> {
  await expect(page.locator('#status')).toHaveText(/^Your turn\.$|win|lose|draw|Over/);
  return !(await isOver(page));
}

/** Plays connect_four against random moves until it is won, with rematches. `choose` touches the legal column of this place. */
async function win(page: Page, choose: (column: number) => Promise<void>): Promise<void> {
  for (let games = 0; games < 8; games++) {
    // Four stones upon each other, in one column after another.
    for (let n = 0; await next(page); n++) {
      const moves = await page.locator('#moves [data-at]').count();
      const legal = await page.locator('#board .cell.legal').count();
      await choose(Math.floor(n / 4) % legal);
      await expect.poll(() => page.locator('#moves [data-at]').count()).toBeGreaterThan(moves);
    }
    if ((await page.locator('#status').textContent())!.startsWith('You win')) return;
    await page.getByRole('button', { name: 'Rematch' }).click();
    await expect(page.locator('#again')).toBeHidden();
  }
  throw new Error('not one of eight games was won');
}

test('connect_four with the mouse', async ({ page, server, faults }) => {
  await sit(page, server, 'connect_four', 'anchor level=0');
  await win(page, (k) => page.locator('#board .cell.legal').nth(k).click());
  // The end of the match leads to its page, and there to a record that this browser verifies.
  await page.locator('#watch').click();
  await expect(page.locator('#verified')).toHaveText('verified in this browser');
  expect(faults).toEqual([]);
});

test('connect_four by touch', async ({ browser, server }) => {
  const context = await browser.newContext({ hasTouch: true, isMobile: true, viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  const faults = watch(page, server);
  await sit(page, server, 'connect_four', 'anchor level=0');
  await win(page, (k) => page.locator('#board .cell.legal').nth(k).tap());
  expect(faults).toEqual([]);
  await context.close();
});

test('connect_four with the keyboard alone', async ({ page, server, faults }) => {
  await page.goto(`${server.url}/play/connect_four`);
  const tabTo = async (selector: string) => {
    for (let n = 0; n < 60; n++) {
      if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`${selector} cannot be reached by keyboard`);
  };
  await tabTo('[name=against]');
  await page.keyboard.press('Home');
  await tabTo('#setup button');
  await page.keyboard.press('Enter');
  await turn(page).catch(() => {});
  await win(page, async (k) => {
    await tabTo('#board [data-cell]');
    for (let n = 0; n < k; n++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
  });
  expect(faults).toEqual([]);
});

test('a reload in the middle keeps the seat', async ({ page, server, faults }) => {
  await sit(page, server, 'connect_four', 'anchor level=0');
  await turn(page);
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="2"]')).toBeVisible();
  await turn(page);
  await page.reload();
  await turn(page);
  await expect(page.locator('#moves [data-at="2"]')).toBeVisible();
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="4"]')).toBeVisible();
  expect(faults).toEqual([]);
});

test('a server that is killed and started again continues the match', async ({ page, server }) => {
  await sit(page, server, 'connect_four', 'anchor level=0');
  await turn(page);
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="2"]')).toBeVisible();
  await turn(page);
  // Rows of an unrated match are written behind, within a second.
  await page.waitForTimeout(1_500);
  await server.kill();
  await server.begin();
  await expect.poll(async () => (await (await fetch(`${server.url}/health`)).json()).sessions).toBe(1);
  await turn(page);
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="4"]')).toBeVisible();
});

test('a promotion in chess is chosen among its pieces', async ({ page, server, faults }) => {
  // The pawn that is farthest goes forward, until one promotes: its last gesture has four meanings.
  await sit(page, server, 'chess', 'anchor level=0', '1');
  let promoted = false;
  for (let n = 0; n < 150 && (await next(page)); n++) {
    const moves = await page.locator('#moves [data-at]').count();
    const from = await page.evaluate(() => {
      const legal = [...document.querySelectorAll<SVGElement>('#board .cell.legal')].map((c) => c.dataset.cell!);
      return legal.filter((c) => /^[a-h][2-7]$/.test(c)).sort((x, y) => Number(y[1]) - Number(x[1]));
    });
    let done = false;
    for (const square of from) {
      await page.locator(`#board [data-cell="${square}"]`).click();
      const targets = await page.locator('#board .cell.legal').evaluateAll((cells, at) =>
        cells.map((c) => (c as SVGElement).dataset.cell!).filter((c) => Number(c[1]) > Number(at[1])), square);
      if (targets.length > 0) {
        await page.locator(`#board [data-cell="${targets.sort((x, y) => Number(y[1]) - Number(x[1]))[0]}"]`).click();
        done = true;
        break;
      }
      await page.locator(`#board [data-cell="${square}"]`).click();
    }
    if (!done) {
      const first = page.locator('#board .cell.legal').first();
      await first.click();
      await page.locator('#board .cell.legal').first().click();
    }
    const choices = page.locator('#choices button');
    if ((await choices.count()) === 4) {
      promoted = true;
      await choices.filter({ hasText: /q/i }).first().click();
    }
    await expect.poll(async () => (await page.locator('#moves [data-at]').count()) > moves).toBe(true);
    if (promoted) break;
  }
  expect(promoted).toBe(true);
  expect(faults).toEqual([]);
});

test('two browsers meet by a link', async ({ browser, page, server, faults }) => {
  await sit(page, server, 'tic_tac_toe', 'queue:friend', '0');
  const link = await page.locator('#link').getAttribute('href');
  const other = await (await browser.newContext()).newPage();
  const others = watch(other, server);
  await other.goto(link!);
  const players = [page, other];
  for (let n = 0; n < 9 && !(await isOver(page)); n++) {
    const mover = players[n % 2]!;
    await expect(mover.locator('#status')).toHaveText(/^Your turn\.$|win|lose|draw/);
    if (await isOver(mover)) break;
    await mover.locator('#board .cell.legal').first().click();
    for (const each of players) await expect(each.locator(`#moves [data-at="${n + 1}"]`)).toBeVisible();
  }
  for (const each of players) await expect(each.locator('#status')).toHaveText(/^(You win|You lose|A draw)/);
  expect([...faults, ...others]).toEqual([]);
});
