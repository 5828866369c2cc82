// Play by mouse, touch and keyboard; reloads, server restarts and long breaks.

import { type Page } from '@playwright/test';

import { finger, finish, type Hands, keys, meet, mouse, type Offer, Person, sit, win } from './person.js';
import { expect, test, watch } from './server.js';

const turn = (page: Page) => expect(page.locator('#status')).toHaveText('Your turn.');

/** Fills one column after another until four stones are stacked. */
const four = ({ cells, steps }: Offer) => cells[Math.floor(Math.floor(steps / 2) / 4) % cells.length]!;

for (const [name, hands] of Object.entries({ mouse, finger, keys })) {
  test(`person beats a bot at connect_four: ${name}`, async ({ browser, server }) => {
    const person = await Person.arrive(browser, hands, four);
    const { page } = person;
    const faults = watch(page, server);
    await sit(person, server, 'connect_four', 'anchor level=0');
    await win(person);
    // The result links to the match page, where the browser verifies the record.
    await person.hands.touch(page, page.locator('#watch'));
    await expect(page.locator('#verified')).toHaveText('Verified in this browser');
    expect(faults).toEqual([]);
  });
}

// ---- two people with scripted moves, so that the result is certain

type Choice = Person['choose'];

/** Plays scripted moves, each given as cells and an optional button. White makes the moves with even index. */
const line = (...moves: string[]): Choice => ({ steps, held }) => moves[steps]!.split(' ')[held.length]!;

/** Promotes to a queen on a8 and mates with the other queen. */
const mate = line('a2 a4', 'g8 h6', 'a4 a5', 'h6 g8', 'a5 a6', 'g8 h6', 'a6 b7', 'h6 g8', 'b7 a8 bxa8=Q', 'g7 g5', 'e2 e4', 'f7 f6',
  'd1 h5');

const stones = ['e5', 'c3', 'g3', 'c7', 'g7'];
/** Places five stones that control the whole board. */
const five: Choice = ({ steps }) => stones[steps / 2] ?? 'B PASS';

/** Bets on the river, which follows 15 steps of deals and checks. */
const bet: Choice = ({ steps, buttons }) => (steps < 15 ? 'Call' : buttons.includes('Fold') ? 'Fold' : 'Bet');
const fold: Choice = ({ steps, buttons }) => (steps >= 15 && buttons.includes('Fold') ? 'Fold' : 'Call');

/** Plays Hanabi with knowledge of the hand, read from the partner's page, so that only playable cards are played. */
function openHand(seat: number, friend: () => Person): Choice {
  let then: string | undefined;
  return async ({ steps, cells, held }) => {
    if (held.length > 0) return then ?? cells.find((name) => name.length === 1)!;
    const seen = friend();
    await expect.poll(async () => (await seen.offer()).steps).toBe(steps);
    const { position } = await seen.offer();
    const height = (card: string) => Number(new RegExp(`${card[0]}(\\d)`).exec(position)![1]);
    const hand = new RegExp(`p${seat} holds ([^.]*)`).exec(position)![1]!.split(', ');
    const playable = hand.findIndex((card) => Number(card[1]) === height(card) + 1);
    const useless = hand.findIndex((card) => Number(card[1]) <= height(card));
    const tokens = Number(/(\d+) information/.exec(position)![1]);
    then = playable >= 0 ? 'play' : tokens === 8 || (tokens > 0 && useless < 0) ? undefined : 'discard';
    return then ? `p${seat}.${playable >= 0 ? playable : Math.max(useless, 0)}` : `p${1 - seat}`;
  };
}

interface Scenario {
  game: string;
  /** Seat of the first person. */
  seat: string;
  choose: (people: Person[]) => [Choice, Choice];
  end: RegExp;
}

const SCENARIOS: Scenario[] = [
  { game: 'chess', seat: '1', choose: () => [mate, mate], end: /^You win/ },
  { game: 'go(preset=small)', seat: '0', choose: () => [five, () => 'W PASS'], end: /^You win/ },
  { game: 'texas_holdem', seat: '0', choose: () => [bet, fold], end: /^You win/ },
  // 25 points are not certain, since the deck may end first. The test expects some points and no lost life.
  { game: 'hanabi', seat: '0', choose: (people) => [openHand(0, () => people[1]!), openHand(1, () => people[0]!)], end: /^[1-9]\d? points each/ },
  // With two colors and two ranks a playable or useless card is always in a hand, so all 4 points are certain.
  { game: 'hanabi(colors=2,ranks=2,hand_size=2)', seat: '0', choose: (people) => [openHand(0, () => people[1]!), openHand(1, () => people[0]!)], end: /^4 points each/ },
];

const PAIRS: [string, Hands, Hands][] = [['mouse and finger', mouse, finger], ['keys and mouse', keys, mouse]];

for (const { game, seat, choose, end } of SCENARIOS) {
  for (const [name, ...hands] of PAIRS) {
    test(`two people finish ${game}: ${name}`, async ({ browser, server }) => {
      const people: Person[] = [];
      const choices = choose(people);
      for (const k of [0, 1]) people.push(await Person.arrive(browser, hands[k]!, choices[k]!));
      const [first, second] = people as [Person, Person];
      const faults = await meet(first, second, server, game, seat);
      expect(await finish(first, second)).toMatch(end);
      if (game.startsWith('hanabi')) expect((await first.offer()).position).toContain('3 lives');
      expect(faults.flat()).toEqual([]);
    });
  }
}

test('dragging a piece makes a move', async ({ page, server, faults }) => {
  await sit(new Person(page, mouse, mate), server, 'chess', 'anchor level=0', '1');
  await turn(page);
  await page.locator('#board [data-cell=e2]').dragTo(page.locator('#board [data-cell=e4]'));
  await expect(page.locator('#moves [data-at="1"]')).toContainText('e4');
  expect(faults).toEqual([]);
});

test('result names the winner and the resigned player', async ({ page, server, faults }) => {
  await sit(new Person(page, mouse, mate), server, 'chess', 'anchor level=0', '1');
  await turn(page);
  const name = (await page.locator('#seats [data-seat="1"] bdi').textContent())!;
  await page.locator('#board [data-cell=e2]').click();
  await page.locator('#board [data-cell=e4]').click();
  await turn(page);
  await expect(page.locator('#moves [data-at="1"]')).toContainText(`${name} (white): e4`);
  // Dismissing the dialog continues the match.
  page.once('dialog', (dialog) => dialog.dismiss());
  await page.locator('#resign').click();
  await turn(page);
  page.once('dialog', (dialog) => dialog.accept());
  await page.locator('#resign').click();
  await expect(page.locator('#status')).toHaveText('You lose: you resigned.');
  await page.locator('#watch').click();
  await expect(page.locator('#status')).toContainText(`anchor level=0 (black) wins: ${name} (white) resigned.`);
  await page.locator('[data-step=first]').click();
  await page.locator('[data-step=on]').click();
  await expect(page.locator('#live-region')).toHaveText(`step 1: ${name} (white): e4`);
  expect(faults).toEqual([]);
});

test('status and clocks are current for both players', async ({ browser, server }) => {
  const people = [await Person.arrive(browser, mouse, four), await Person.arrive(browser, mouse, four)] as const;
  const [{ page }, { page: other }] = people;
  await page.goto(`${server.url}/play/connect_four`);
  await page.selectOption('[name=against]', 'queue:friend');
  await page.selectOption('[name=seat]', '0');
  await page.selectOption('[name=clock]', 'blitz');
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await expect(page.locator('#resign')).toHaveText('Cancel');
  await other.goto((await page.locator('#link').getAttribute('href'))!);
  const waits = (page: Page) => expect(page.locator('#status')).toHaveText(/^guest-\w+ \([xo]\) to move\.$/);
  await turn(page);
  await waits(other);
  // The board has the focus.
  expect(await page.evaluate(() => document.activeElement?.closest('#board') !== null)).toBe(true);
  for (const seat of [0, 1]) await expect(other.locator(`#seats [data-seat="${seat}"] .clock`)).toHaveText(/^[23]:\d\d$/);
  // A reload or a closed page does not change the turn.
  await other.reload();
  await waits(other);
  await turn(page);
  await other.goto('about:blank');
  await expect(page.locator('#seats [data-seat="1"] .away')).toBeVisible();
  await turn(page);
  await page.locator('#board [data-cell="3"]').click();
  await waits(page);
  await expect(page.locator('#board .last')).toHaveAttribute('data-cell', '3');
});

// ---- what happens to a tab

test('player keeps the seat after a page reload', async ({ page, server, faults }) => {
  await sit(new Person(page, mouse, four), server, 'connect_four', 'anchor level=0');
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

test('match continues after a server restart', async ({ page, server }) => {
  await sit(new Person(page, mouse, four), server, 'connect_four', 'anchor level=0');
  await turn(page);
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="2"]')).toBeVisible();
  await turn(page);
  // The store writes rows of unrated matches within a second.
  await page.waitForTimeout(1_500);
  await server.kill();
  await expect(page.locator('#status')).toHaveText('Connection lost. Reconnecting …');
  await server.begin();
  await expect.poll(async () => (await (await fetch(`${server.url}/health`)).json()).sessions).toBe(1);
  await turn(page);
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="4"]')).toBeVisible();
});

test('tab that was open for twelve hours continues after a server restart', async ({ page, server }) => {
  await page.clock.install();
  await sit(new Person(page, mouse, four), server, 'connect_four', 'anchor level=0');
  await turn(page);
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="2"]')).toBeVisible();
  await turn(page);
  await page.clock.fastForward('06:00:00');
  // The store writes rows of unrated matches within a second.
  await page.waitForTimeout(1_500);
  await server.kill();
  await page.clock.fastForward('06:00:00');
  await server.begin();
  await expect.poll(async () => {
    // The delay between connection attempts runs on the fake clock too.
    await page.clock.runFor(2_000);
    return (await (await fetch(`${server.url}/health`)).json()).sessions;
  }).toBe(1);
  await turn(page);
  await page.locator('#board .cell.legal').first().click();
  await expect(page.locator('#moves [data-at="4"]')).toBeVisible();
});
