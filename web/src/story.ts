// The list of what happened, and the seats above the board.

import type { MatchEnd, MatchEvent as Event, MatchStart } from '../../clients/typescript/src/messages.js';
import { clean, find, make } from './dom.js';

/** An event in words. */
export function words(event: Event, names: string[]): string {
  const who = (seat: number) => names[seat] ?? `seat ${seat}`;
  switch (event.kind) {
    case 'move': return `${who(event.seat)}: ${event.text}`;
    case 'chance': return `chance: ${event.text}`;
    case 'say': return `${who(event.seat)} says: ${event.text}`;
    case 'reveal': return `shown: ${event.text}`;
    case 'phase': return `phase: ${event.phase}`;
    case 'reward': return `points: ${event.rewards.map((points, seat) => `${who(seat)} ${points}`).join(', ')}`;
    case 'presence': return `${who(event.seat)} ${event.online ? 'is back' : 'has left'}`;
    default: return '';
  }
}

export const isStep = ({ kind }: Event): boolean => kind === 'move' || kind === 'chance';

/** A line of the list. */
export function line(event: Event, names: string[], at?: number): HTMLLIElement {
  const item = make('li', undefined, at === undefined ? { class: 'word' } : { 'data-at': String(at) });
  if (at !== undefined) item.append(make('a', `${at}.`, { href: `#${at}` }), ' ');
  item.append(make('bdi', words(event, names)));
  return item;
}

/** What the game calls its seats. The page of a run knows it of several games. */
export function rolesOf(start: MatchStart): string[] {
  const roles = document.querySelector<HTMLElement>('[data-roles]')?.dataset.roles;
  if (roles) return (JSON.parse(roles) as Record<string, string[]>)[start.game] ?? [];
  return (document.querySelector<HTMLElement>('[data-seats]')?.dataset.seats ?? '').split(' ');
}

/** What the page calls each seat: the name, and in brackets what the game calls the seat, as the server's pages do. */
export function namesOf(start: MatchStart): string[] {
  const roles = rolesOf(start);
  const names = start.seats.map(({ name }) => clean(name));
  return names.map((name, seat) => {
    const role = roles[seat] || `seat ${seat}`;
    const alone = names.filter((other) => other === name).length === 1;
    return alone && /^(p|player_|seat )\d+$/.test(role) ? name : `${name} (${role})`;
  });
}

/**
 * The end in words, for the player in `own` if it is given. The words of the reasons come with the page; what does not count
 * begins with `!`.
 */
export function verdict(end: MatchEnd, names: string[], own?: number): string {
  const whys = JSON.parse(find('[data-whys]').dataset.whys!) as Record<string, string>;
  const told = whys[end.reason] ?? '';
  const counts = !told.startsWith('!');
  const fault = end.at_fault ?? -1;
  const why = told.replace('!', '').replace('{}', () => (fault === own ? 'you' : names[fault] ?? 'a player'));
  const close = counts ? '.' : '. The match does not count.';
  const mine = MINE[end.outcome[own ?? -1] ?? 'none'];
  const all = result(end, names);
  const head = mine === undefined || mine === all ? all : names.length > 2 ? `${mine}. ${all}` : mine;
  if (!why) return `${head}${close}`;
  if (counts || end.outcome.includes('win')) return `${head}: ${why}${close}`;
  return why.replace(/^(the|you) /, (word) => word[0]!.toUpperCase() + word.slice(1)) + close;
}

const MINE = { win: 'You win', loss: 'You lose', draw: 'A draw', none: undefined };

/** Who won, or what each player has. */
function result(end: MatchEnd, names: string[]): string {
  const those = (word: string) => names.filter((_, seat) => end.outcome[seat] === word);
  const [won, lost] = [those('win'), those('loss')];
  if (won.length > 0) return `${list(won)} ${won.length > 1 ? 'win' : 'wins'}`;
  if (end.outcome.includes('draw')) return 'A draw';
  if (lost.length > 0) return `${list(lost)} ${lost.length > 1 ? 'lose' : 'loses'}`;
  const points = (value: number) => `${value} ${Math.abs(value) === 1 ? 'point' : 'points'}`;
  const [first, ...rest] = end.returns;
  if (first === undefined) return 'Over';
  if (rest.length === 0) return points(first);
  if (rest.every((other) => other === first)) return `${points(first)} each`;
  return names.map((name, seat) => `${name}: ${points(end.returns[seat] ?? 0)}`).join(', ');
}

const list = (names: string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
