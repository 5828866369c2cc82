// Simulated people: input devices, and one play loop for all games.

import { type Browser, type BrowserContextOptions, expect, type Locator, type Page } from '@playwright/test';

import { type Server, watch } from './server.js';

/** An input device. */
export interface Hands {
  touch(page: Page, target: Locator): Promise<void>;
  /** The browser window for this device. */
  window: BrowserContextOptions;
}

export const mouse: Hands = { touch: (_, target) => target.click(), window: {} };

export const finger: Hands = {
  touch: (_, target) => target.tap(),
  window: { hasTouch: true, isMobile: true, viewport: { width: 360, height: 740 } },
};

export const keys: Hands = {
  async touch(page, target) {
    const isCell = await target.evaluate((e) => e.matches('#board [data-cell]'));
    for (let n = 0; n < 100; n++) {
      // [0, 0] if the target has the focus, the distance to it if another cell has, else [].
      const [dx, dy] = await target.evaluate((to, isCell) => {
        const at = document.activeElement;
        if (at === to) return [0, 0];
        if (!isCell || !at?.closest('#board [data-cell]')) return [];
        const [a, b] = [at.getBoundingClientRect(), to.getBoundingClientRect()];
        return [b.x + b.width / 2 - a.x - a.width / 2, b.y + b.height / 2 - a.y - a.height / 2];
      }, isCell);
      if (dx === undefined || dy === undefined) {
        await page.keyboard.press('Tab');
      } else if (dx === 0 && dy === 0) {
        return page.keyboard.press('Enter');
      } else {
        const [across, along] = [dx > 0 ? 'ArrowRight' : 'ArrowLeft', dy > 0 ? 'ArrowDown' : 'ArrowUp'];
        // Every fifth try uses the shorter axis, in case the longer one is blocked, unless that distance is 0.
        const [wide, high] = [Math.abs(dx), Math.abs(dy)];
        const longer = n % 5 < 4 || Math.min(wide, high) < 1;
        await page.keyboard.press((wide > high) === longer ? across : along);
      }
    }
    throw new Error(`expected ${target} to be reachable by keyboard`);
  },
  window: {},
};

/** Moves that the page offers to the player to move. */
export interface Offer {
  /** Names of the selectable cells. */
  cells: string[];
  /** Names of the selected cells of an incomplete move. */
  held: string[];
  /** Labels of the buttons. */
  buttons: string[];
  /** Text description of the position. */
  position: string;
  /** Number of steps so far. */
  steps: number;
}

/** A player. `choose` returns the next cell to select, or the start of a button's label. */
export class Person {
  constructor(readonly page: Page, readonly hands: Hands, readonly choose: (offer: Offer) => string | Promise<string>) {}

  /** Creates a person with a separate browser context. */
  static async arrive(browser: Browser, hands: Hands, choose: Person['choose']): Promise<Person> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...hands.window });
    return new Person(await context.newPage(), hands, choose);
  }

  offer(): Promise<Offer> {
    return this.page.evaluate(() => {
      const names = (selector: string) => [...document.querySelectorAll<SVGElement>(selector)].map((c) => c.dataset.cell!);
      return {
        cells: names('#board .cell.legal'),
        held: names('#board .cell.held'),
        buttons: [...document.querySelectorAll('#choices button')].map((button) => button.textContent!),
        position: document.querySelector('#board desc')?.textContent ?? '',
        steps: document.querySelectorAll('#moves [data-at]').length,
      };
    });
  }

  /** Returns the person's state in the match. */
  async state(): Promise<'turn' | 'wait' | 'over'> {
    if (await this.page.locator('#again').isVisible()) return 'over';
    return (await this.page.locator('#status').textContent()) === 'Your turn.' ? 'turn' : 'wait';
  }

  /** Makes one move, with up to 6 selections. */
  async move(): Promise<void> {
    const before = await this.offer();
    for (let offer = before, n = 0; n < 6; n++) {
      const choice = await this.choose(offer);
      const target = offer.cells.includes(choice) || offer.held.includes(choice)
        ? this.page.locator(`#board [data-cell="${choice}"]`).last()
        : this.page.locator('#choices button').nth(offer.buttons.findIndex((text) => text.startsWith(choice)));
      await this.hands.touch(this.page, target);
      offer = await this.offer();
      if (offer.steps > before.steps || offer.held.length === 0) break;
    }
    await expect.poll(async () => (await this.state()) !== 'turn' || (await this.offer()).steps > before.steps, SOON).toBe(true);
  }
}

const SOON = { intervals: [10, 20, 50, 100] };

/** Opens the play page of a game and starts a match against an opponent of the list. */
export async function sit(person: Person, server: Server, game: string, against: string, seat = '0'): Promise<void> {
  const { page } = person;
  await page.goto(`${server.url}/play/${game}`);
  await page.selectOption('[name=against]', against);
  await page.selectOption('[name=seat]', seat);
  await person.hands.touch(page, page.getByRole('button', { name: 'Play', exact: true }));
}

/** Seats two people, the second through the first's invite link. Returns the browser errors of both. */
export async function meet(first: Person, second: Person, server: Server, game: string, seat = '0'): Promise<string[][]> {
  const faults = [watch(first.page, server), watch(second.page, server)];
  await sit(first, server, game, 'queue:friend', seat);
  await second.page.goto((await first.page.locator('#link').getAttribute('href'))!);
  return faults;
}

/** Plays the match to its end and returns the first person's status line. */
export async function finish(...people: [Person, ...Person[]]): Promise<string> {
  for (;;) {
    let states: string[] = [];
    await expect.poll(async () => {
      states = await Promise.all(people.map((person) => person.state()));
      return states.includes('turn') || states.every((state) => state === 'over');
    }, SOON).toBe(true);
    if (!states.includes('turn')) break;
    await people[states.indexOf('turn')]!.move();
  }
  return (await people[0].page.locator('#status').textContent())!;
}

/** Plays up to 8 matches until one is won. */
export async function win(person: Person): Promise<void> {
  for (let games = 0; games < 8; games++) {
    if ((await finish(person)).startsWith('You win')) return;
    await person.hands.touch(person.page, person.page.getByRole('button', { name: 'Rematch' }));
    await expect(person.page.locator('#again')).toBeHidden();
  }
  throw new Error('expected a win in 8 matches, got none');
}
