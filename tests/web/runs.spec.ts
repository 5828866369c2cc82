// A person plays a suite from the list of suites to the verdict, with a reload in between.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, Server, test, watch } from './server.js';

const SUITE = `
name = "small"
version = 1
title = "Small"
[[part]]
id = "nim"
game = "nim(pile_sizes=1;2)"
schedule = "against"
opponents = ["random"]
blocks = 2
`;

test('person plays a run until the verdict is shown', async ({ page }) => {
  const file = join(mkdtempSync(join(tmpdir(), 'ludex-suite-')), 'small.toml');
  writeFileSync(file, SUITE);
  const server = await Server.start('--suite', file);
  const faults = watch(page, server);
  await page.goto(`${server.url}/runs`);
  await page.fill('[name=play]', 'mine');
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  for (let match = 0; match < 4; match++) {
    const status = page.locator('#status');
    for (let turn = 0; ; turn++) {
      await expect(status).toHaveText(/^Your turn\.$|win|lose|over/);
      if (await page.locator('#again').isVisible() || /win|lose|over/.test((await status.textContent())!)) break;
      if (match === 1 && turn === 0) {
        await page.reload();
        await expect(status).toHaveText('Your turn.');
      }
      const moves = await page.locator('#moves [data-at]').count();
      await page.locator('#type [name=text]').fill(await page.locator('#names option').first().getAttribute('value') ?? '');
      await page.locator('#type button').click();
      await expect.poll(() => page.locator('#moves [data-at]').count()).toBeGreaterThan(moves);
    }
    if (match < 3) await page.locator('#again').click();
  }
  await page.getByRole('link', { name: 'See the results' }).click();
  await expect(page.getByText(/of 4 matches: \d+% of the points\./)).toBeVisible();
  await expect(page.locator('.matches .go')).toHaveCount(4);
  expect(faults).toEqual([]);
  await server.end();
});
