import type { Outcome, Progress, Reason, RunEnd } from './messages.js';

/** How a match ended. */
export interface MatchResult {
  match: string;
  game: string;
  /** Our seat. */
  seat: number;
  /** Names of the agents. */
  seats: string[];
  /** For each seat; empty if the server no longer knew the match. */
  returns: number[];
  outcome: Outcome[];
  reason: Reason | 'unknown_match' | 'not_your_seat';
  /** The seat that forfeited, if one did. */
  at_fault?: number;
  rated: boolean;
  /** Path of the record over HTTP. */
  record?: string;
}

/** How far a run is. */
export type RunStanding = Omit<Progress, 'type' | 're'>;

/** How a run ended. */
export type RunResult = Omit<RunEnd, 'type' | 're'>;
