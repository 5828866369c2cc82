// The play page: setup form, then the live match.

import { find } from './dom.js';
import { LiveMatch } from './live-match.js';
import { CLOCKS, guestName, parseInvite, type PlayRequest } from './play-request.js';

export function play(): void {
  const { game, agent, prefix, players } = find('#play').dataset;
  const setup = find<HTMLFormElement>('#setup');
  // Name and request are stored per tab, so that a reload returns to the seat.
  const requestKey = `ludex:${game}`;
  const name = agent ?? guestName(prefix, sessionStorage.getItem('ludex:name'));
  sessionStorage.setItem('ludex:name', name);

  const start = (request: PlayRequest, reclaim: boolean) => {
    sessionStorage.setItem(requestKey, JSON.stringify(request));
    setup.hidden = true;
    new LiveMatch(request, name, reclaim, () => {
      sessionStorage.removeItem(requestKey);
      setup.hidden = false;
      find('#live-match').hidden = true;
    });
  };
  setup.addEventListener('submit', (event) => {
    event.preventDefault();
    const form = new FormData(setup);
    const text = (key: string) => String(form.get(key) ?? '');
    const request: PlayRequest = { game: game!, clock: CLOCKS[text('clock')]! };
    if (text('seat') !== '') request.seat = Number(text('seat'));
    const [kind, queue] = text('against').split(':');
    if (kind !== 'queue') {
      request.against = [text('against')];
      request.alternate = request.seat === undefined;
      request.seat ??= 0;
    }
    if (kind === 'queue') request.queue = queue === 'friend' ? `f-${Math.random().toString(36).slice(2, 12)}` : queue!;
    // An invite link can name the free seat only in games for two.
    if (queue === 'friend' && players !== '2') delete request.seat;
    start(request, false);
  });

  const stored = sessionStorage.getItem(requestKey);
  const friend = new URLSearchParams(location.search).get('friend');
  if (stored) start(JSON.parse(stored) as PlayRequest, true);
  else if (friend) start(parseInvite(game!, friend), false);
  else setup.hidden = false;
}
