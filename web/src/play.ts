// A person's seat: the setup, and the table.

import { find } from './dom.js';
import { Table } from './table.js';
import { CLOCKS, guest, invited, type Wish } from './wish.js';

export function play(): void {
  const { game, agent, prefix, players } = find('#play').dataset;
  const setup = find<HTMLFormElement>('#setup');
  // This tab's name and what it plays: a reload finds its seat again.
  const kept = `ludex:${game}`;
  const name = agent ?? guest(prefix, sessionStorage.getItem('ludex:name'));
  sessionStorage.setItem('ludex:name', name);

  const sit = (wish: Wish, again: boolean) => {
    sessionStorage.setItem(kept, JSON.stringify(wish));
    setup.hidden = true;
    new Table(wish, name, again, () => {
      sessionStorage.removeItem(kept);
      setup.hidden = false;
      find('#table').hidden = true;
    });
  };
  setup.addEventListener('submit', (event) => {
    event.preventDefault();
    const form = new FormData(setup);
    const text = (key: string) => String(form.get(key) ?? '');
    const wish: Wish = { game: game!, clock: CLOCKS[text('clock')]! };
    if (text('seat') !== '') wish.seat = Number(text('seat'));
    const [kind, queue] = text('against').split(':');
    if (kind !== 'queue') {
      wish.against = [text('against')];
      wish.turns = wish.seat === undefined;
      wish.seat ??= 0;
    }
    if (kind === 'queue') wish.queue = queue === 'friend' ? `f-${Math.random().toString(36).slice(2, 12)}` : queue!;
    // The link of a friend can name the seat that is left only where there is one.
    if (queue === 'friend' && players !== '2') delete wish.seat;
    sit(wish, false);
  });

  const before = sessionStorage.getItem(kept);
  const friend = new URLSearchParams(location.search).get('friend');
  if (before) sit(JSON.parse(before) as Wish, true);
  else if (friend) sit(invited(game!, friend), false);
  else setup.hidden = false;
}
