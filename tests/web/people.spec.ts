// An invited person opens a link, accepts the consent text, and plays a tiny suite to its end on two devices.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Page } from '@playwright/test';

import { expectAccessible, expectNoOverflow } from './checks.js';
import { expect, Server, test, watch } from './server.js';

const SUITE = `
name = "tiny"
version = 1
title = "Tiny"
[policy]
limit_s = 90
[[part]]
id = "nim"
game = "nim(pile_sizes=1;2)"
schedule = "against"
opponents = ["random"]
blocks = 1
`;

const CONSENT = '# A study of games\n\nWe store your moves and the time of each move under your **first name**.\n\n- You may stop at any time.\n';

/** Folder for screenshots; empty: none. */
const PICTURES = process.env.PEOPLE_PICTURES ?? '';

/** Checks the displayed page on a phone and a desktop, in light and dark. */
async function expectGood(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [400, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await expectNoOverflow(page);
      await expectAccessible(page);
      if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
  }
}

/** Plays the displayed match to its end. */
async function finish(page: Page): Promise<void> {
  const status = page.locator('#status');
  for (;;) {
    await expect(status).toHaveText(/^Your turn\.$|win|lose|over/);
    if (/win|lose|over/.test((await status.textContent())!)) return;
    const moves = await page.locator('#moves [data-at]').count();
    await page.locator('#type [name=text]').fill(await page.locator('#names option').first().getAttribute('value') ?? '');
    await page.locator('#type button').click();
    await expect.poll(() => page.locator('#moves [data-at]').count()).toBeGreaterThan(moves);
  }
}

test('invited person accepts and plays a suite on two devices', async ({ page, browser }) => {
  const folder = mkdtempSync(join(tmpdir(), 'ludex-people-'));
  const [suite, consent] = [join(folder, 'tiny.toml'), join(folder, 'consent.md')];
  writeFileSync(suite, SUITE);
  writeFileSync(consent, CONSENT);
  const server = await Server.start('--suite', suite, '--consent', consent);
  const out = await server.run('admin', 'invite', 'ann', '--suite', 'tiny', '--data', server.data, '--url', server.url, '--json');
  const { link } = (JSON.parse(out) as { invitations: { link: string }[] }).invitations[0]!;
  const faults = watch(page, server);
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url()));

  // The first page needs a login, as expected.
  await page.goto(link);
  await expect(page.getByRole('heading', { name: 'A study of games' })).toBeVisible();
  expect(page.url()).toBe(`${server.url}/runs/people-ann/play`);
  await expect(page.getByText('You have 90 seconds for each move.')).toBeVisible();
  await expectGood(page, 'consent');
  await page.getByRole('button', { name: 'Accept and play' }).click();
  await finish(page);
  await expectGood(page, 'play');

  // Another device continues the run by the link. The next match is on its page.
  await page.close();
  const other = await (await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 400, height: 800 } })).newPage();
  other.on('request', (request) => urls.push(request.url()));
  await other.goto(link);
  await finish(other);
  await other.getByRole('link', { name: 'See the results' }).click();
  await expect(other.getByText(/of 2 matches: \d+% of the points\./)).toBeVisible();

  const line = JSON.parse(readFileSync(join(server.data, 'runs/people-ann/consent.jsonl'), 'utf8')) as Record<string, unknown>;
  expect([Object.keys(line).sort(), line.agent]).toEqual([['agent', 'at', 'sha256'], 'ann']);
  const token = link.split('#')[1]!;
  expect(urls.filter((url) => url.includes(token))).toEqual([]);
  expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
  await server.end();
});
