// Checks of any page.

import AxeBuilder from '@axe-core/playwright';
import { type Page } from '@playwright/test';

import { expect } from './server.js';

/** Widths of a phone, a tablet and a desktop, in pixels. */
export const WIDTHS = [360, 768, 1440];

/** Checks a page with axe. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(serious.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
}

/** Checks that a page has no horizontal scroll bar. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide, 'the page is not wider than the window').toBeLessThanOrEqual(0);
}
