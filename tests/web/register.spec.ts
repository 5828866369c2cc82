// Registration of an owner, its token, and the revocation of the token.

import { type Page } from '@playwright/test';

import { expectAccessible, expectNoOverflow, WIDTHS } from './checks.js';
import { expect, test } from './server.js';

test.use({ options: ['--register', 'open'] });

/** Checks the displayed page at all widths, in light and dark. */
async function expectGood(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await expectNoOverflow(page);
      if (width !== 768) await expectAccessible(page);
    }
  }
}

test('visitor registers, logs in, and revokes the token', async ({ page, server, faults }) => {
  await page.goto(server.url);
  await page.getByRole('link', { name: 'register', exact: true }).click();
  await expectGood(page);
  await page.getByLabel('Owner name').fill('ann');
  await page.getByRole('button', { name: 'Register' }).click();
  await expect(page.locator('h1')).toHaveText('Registered');
  await expectGood(page);
  expect(page.url()).toBe(`${server.url}/register`);
  const token = (await page.locator('pre').first().textContent())!;
  expect(token).toMatch(/^lx_[\w-]{43}$/);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy the token' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);

  await page.getByRole('link', { name: 'log in', exact: true }).click();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await expect(page.getByRole('button', { name: 'Log out' })).toBeVisible();
  await page.goto(`${server.url}/register`);
  await page.locator('[name=token]').fill(token);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByRole('status')).toHaveText('The token of ann is revoked.');
  expect(faults).toEqual([]);
});

test('refused registration keeps the name', async ({ page, server }) => {
  await page.goto(`${server.url}/register`);
  await page.getByLabel('Owner name').fill('random');
  await page.getByRole('button', { name: 'Register' }).click();
  await expect(page.getByRole('alert')).toContainText('expected a free name, got random');
  await expect(page.getByLabel('Owner name')).toHaveValue('random');
  await expectGood(page);
});
