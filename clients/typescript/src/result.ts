import type { Outcome, Progress, Reason, RunEnd } from './messages.js';

/** Result of a match for one seat of the agent. An agent with several seats of a match has a result for each. */
export interface MatchResult {
  match: string;
  game: string;
  /** The seat of this result. */
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
  /** The join that the match belongs to. */
  join?: string;
}

/** Progress of a run. */
export type RunStanding = Omit<Progress, 'type' | 're'> & {
  /** Estimated remaining time in milliseconds; present after enrolling. */
  eta_ms?: number;
};

/** Result of a run. */
export type RunResult = Omit<RunEnd, 'type' | 're'>;
