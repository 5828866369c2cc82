// What a person wants to play, and how a link tells it to a friend.

import type { Clock, Enrol } from '../../clients/typescript/src/messages.js';

/** What a person wants to play. */
export interface Wish {
  game: string;
  against?: string[];
  queue?: string;
  seat?: number;
  /** The link of a friend led here. */
  invited?: boolean;
  /** A rematch is played in the next seat. */
  turns?: boolean;
  clock: Clock;
  /** The run whose matches are played, one after the other; what stands above is then the run's. */
  enrol?: Enrol;
}

/** A name for somebody whose token has none: it begins as the token wants it. `kept` is the name that was used before. */
export function guest(prefix: string | undefined, kept: string | null): string {
  const begin = prefix || 'guest-';
  return kept?.startsWith(begin) ? kept : `${begin}${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`;
}

export const CLOCKS: Record<string, Wish['clock']> = {
  none: { bank_ms: 0 },
  move: { move_ms: 30_000 },
  blitz: { move_ms: 0, bank_ms: 180_000, inc_ms: 2_000 },
  long: { move_ms: 0, bank_ms: 900_000, inc_ms: 10_000 },
};

/** What the link of a friend says: the queue, the clock, and which seat is left. */
export function invited(game: string, link: string): Wish {
  const [queue, clock, seat] = link.split('~');
  const wish: Wish = { game, queue: queue!, invited: true, clock: CLOCKS[clock ?? 'none'] ?? CLOCKS['none']! };
  if (seat) wish.seat = Number(seat);
  return wish;
}

/** The link for a friend. */
export function invitation({ queue, clock, seat }: Wish): string {
  const name = Object.keys(CLOCKS).find((key) => JSON.stringify(CLOCKS[key]) === JSON.stringify(clock)) ?? 'none';
  const other = seat === undefined ? '' : `~${1 - seat}`;
  return `${location.origin}${location.pathname}?friend=${queue}~${name}${other}`;
}
