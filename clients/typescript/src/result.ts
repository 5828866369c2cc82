import type { Outcome, Progress, Reason, RunEnd } from './messages.js';

/** Result of a match. */
export interface MatchResult {
  match: string;
  game: string;
  /** The agent's seat. */
  seat: number;
  /** Names of the agents. */
  seats: string[];
  /** Return of each seat; empty if the server no longer has the match. */
  returns: number[];
  outcome: Outcome[];
  reason: Reason | 'unknown_match' | 'not_your_seat';
  /** The seat that forfeited, if any. */
  at_fault?: number;
  rated: boolean;
  /** Path of the record over HTTP. */
  record?: string;
}

/** Progress of a run. */
export type RunStanding = Omit<Progress, 'type' | 're'> & {
  /** Estimated remaining time in milliseconds; present after enrolling. */
  eta_ms?: number;
};

/** Result of a run. */
export type RunResult = Omit<RunEnd, 'type' | 're'>;
