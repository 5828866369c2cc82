// Event list, seat names, and result texts of a match.

import type { MatchEnd, MatchEvent as Event, MatchStart } from '../../clients/typescript/src/messages.js';
import { createElement, find, sanitizeText } from './dom.js';

/** Returns the text of an event. */
export function eventText(event: Event, names: string[]): string {
  const who = (seat: number) => names[seat] ?? `seat ${seat}`;
  switch (event.kind) {
    case 'move': return `${who(event.seat)}: ${event.text}`;
    case 'chance': return `chance: ${event.text}`;
    case 'say': return `${who(event.seat)} says: ${event.text}`;
    case 'reveal': return `revealed: ${event.text}`;
    case 'phase': return `phase: ${event.phase}`;
    case 'reward': return `points: ${event.rewards.map((points, seat) => `${who(seat)} ${points}`).join(', ')}`;
    case 'presence': return `${who(event.seat)} ${event.online ? 'reconnected' : 'disconnected'}`;
    default: return '';
  }
}

/** Returns true if the event changes the position. */
export const isStep = ({ kind }: Event): boolean => kind === 'move' || kind === 'chance';

/** Creates the list item of an event; `at` is the number of its step. */
export function eventItem(event: Event, names: string[], at?: number): HTMLLIElement {
  const item = createElement('li', undefined, at === undefined ? { class: 'note-line' } : { 'data-at': String(at) });
  if (at !== undefined) item.append(createElement('a', `${at}.`, { href: `#${at}` }), ' ');
  item.append(createElement('bdi', eventText(event, names)));
  return item;
}

/** Returns the game's names of the seats. The page of a run has them for several games. */
export function seatRoles(start: MatchStart): string[] {
  const roles = document.querySelector<HTMLElement>('[data-roles]')?.dataset.roles;
  if (roles) return (JSON.parse(roles) as Record<string, string[]>)[start.game] ?? [];
  return (document.querySelector<HTMLElement>('[data-seats]')?.dataset.seats ?? '').split(' ');
}

/** Returns the display name of each seat, `ada (black)`, by the same rule as the server's pages. */
export function seatNames(start: MatchStart): string[] {
  const roles = seatRoles(start);
  const names = start.seats.map(({ name }) => sanitizeText(name));
  return names.map((name, seat) => {
    const role = roles[seat] || `seat ${seat}`;
    const alone = names.filter((other) => other === name).length === 1;
    return alone && /^(p|player_|seat )\d+$/.test(role) ? name : `${name} (${role})`;
  });
}

/**
 * Returns the result as a sentence; with `own`, from the view of that seat. The texts of the reasons come with the page; a
 * leading `!` marks a match that is not counted.
 */
export function resultText(end: MatchEnd, names: string[], own?: number): string {
  const reasons = JSON.parse(find('[data-end-reasons]').dataset.endReasons!) as Record<string, string>;
  const text = reasons[end.reason] ?? '';
  const counts = !text.startsWith('!');
  const fault = end.at_fault ?? -1;
  const reason = text.replace('!', '').replace('{}', () => (fault === own ? 'you' : names[fault] ?? 'a player'));
  const close = counts ? '.' : '. This match is not counted.';
  const mine = OWN_RESULTS[end.outcome[own ?? -1] ?? 'none'];
  const all = result(end, names);
  const head = mine === undefined || mine === all ? all : names.length > 2 ? `${mine}. ${all}` : mine;
  if (!reason) return `${head}${close}`;
  if (counts || end.outcome.includes('win')) return `${head}: ${reason}${close}`;
  return reason.replace(/^(the|you) /, (word) => word[0]!.toUpperCase() + word.slice(1)) + close;
}

const OWN_RESULTS = { win: 'You win', loss: 'You lose', draw: 'Draw', none: undefined };

/** Returns the winners, or the points of each player. */
function result(end: MatchEnd, names: string[]): string {
  const withOutcome = (word: string) => names.filter((_, seat) => end.outcome[seat] === word);
  const [won, lost] = [withOutcome('win'), withOutcome('loss')];
  if (won.length > 0) return `${list(won)} ${won.length > 1 ? 'win' : 'wins'}`;
  if (end.outcome.includes('draw')) return 'Draw';
  if (lost.length > 0) return `${list(lost)} ${lost.length > 1 ? 'lose' : 'loses'}`;
  const points = (value: number) => `${value} ${Math.abs(value) === 1 ? 'point' : 'points'}`;
  const [first, ...rest] = end.returns;
  if (first === undefined) return 'Match over';
  if (rest.length === 0) return points(first);
  if (rest.every((other) => other === first)) return `${points(first)} each`;
  return names.map((name, seat) => `${name}: ${points(end.returns[seat] ?? 0)}`).join(', ');
}

const list = (names: string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
