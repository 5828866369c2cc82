// Play requests, and their encoding in invite links.

import type { Clock, Enrol } from '../../clients/typescript/src/messages.js';

/** Game, opponents, seat and clock that a person chose. */
export interface PlayRequest {
  game: string;
  against?: string[];
  queue?: string;
  seat?: number;
  /** True if the request comes from an invite link. */
  fromInvite?: boolean;
  /** True if a rematch uses the next seat. */
  alternate?: boolean;
  clock: Clock;
  /** Run to play, which determines all other settings. */
  enrol?: Enrol;
}

/** Returns a guest name with `prefix`: `previous` if it has the prefix, otherwise a new name. */
export function guestName(prefix: string | undefined, previous: string | null): string {
  const start = prefix || 'guest-';
  return previous?.startsWith(start) ? previous : `${start}${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`;
}

export const CLOCKS: Record<string, PlayRequest['clock']> = {
  none: { bank_ms: 0 },
  move: { move_ms: 30_000 },
  blitz: { move_ms: 0, bank_ms: 180_000, inc_ms: 2_000 },
  long: { move_ms: 0, bank_ms: 900_000, inc_ms: 10_000 },
};

/** Parses the text of an invite link: `queue~clock`, or `queue~clock~seat` with the free seat. */
export function parseInvite(game: string, link: string): PlayRequest {
  const [queue, clock, seat] = link.split('~');
  const request: PlayRequest = { game, queue: queue!, fromInvite: true, clock: CLOCKS[clock ?? 'none'] ?? CLOCKS['none']! };
  if (seat) request.seat = Number(seat);
  return request;
}

/** Returns the invite link for a friend. */
export function inviteLink({ queue, clock, seat }: PlayRequest): string {
  const name = Object.keys(CLOCKS).find((key) => JSON.stringify(CLOCKS[key]) === JSON.stringify(clock)) ?? 'none';
  const other = seat === undefined ? '' : `~${1 - seat}`;
  return `${location.origin}${location.pathname}?friend=${queue}~${name}${other}`;
}
