// The list of what happened, and the seats above the board.

import type { MatchEnd, MatchEvent as Event, MatchStart } from '../../clients/typescript/src/messages.js';
import { clean, make } from './dom.js';

/** An event in words. */
export function words(event: Event, names: string[]): string {
  const who = (seat: number) => names[seat] ?? `seat ${seat}`;
  switch (event.kind) {
    case 'move': return `${who(event.seat)}: ${event.text}`;
    case 'chance': return `chance: ${event.text}`;
    case 'say': return `${who(event.seat)} says: ${event.text}`;
    case 'reveal': return `shown: ${event.text}`;
    case 'phase': return `phase: ${event.phase}`;
    case 'reward': return `points: ${event.rewards.join(', ')}`;
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

export const namesOf = (start: MatchStart): string[] => start.seats.map(({ name }) => clean(name));

/** The end in words. */
export function verdict(end: MatchEnd, names: string[]): string {
  const won = names.filter((_, seat) => end.outcome[seat] === 'win');
  const how = end.reason === 'finished' ? '' : ` (${end.reason})`;
  if (won.length > 0) return `${won.join(', ')} ${won.length > 1 ? 'win' : 'wins'}${how}.`;
  if (end.outcome.includes('draw')) return `A draw${how}.`;
  return `Over${how}: ${end.returns.join(', ')} points.`;
}
