// Runs: a suite of the server, played to its end by an agent that connects (docs/protocol-runs.md).

import { LudexError } from './errors.js';
import type { Enrol, LobbyMessage } from './messages.js';
import { type Agent, Player, type PlayerOptions } from './player.js';
import type { RunResult, RunStanding } from './result.js';

const RETRY_MS = 1_000;

export interface EvaluateOptions extends PlayerOptions {
  /** The run is bound to this name: only under it can the same run be continued. */
  name: string;
  /** Called when the agent has enrolled, also again after a lost connection, and after each match. */
  on_progress?(standing: RunStanding): void;
}

/**
 * Enrols `agent` for a run, plays it to its end, and returns what came out. The same call continues the run after any
 * interruption: a lost connection is resumed automatically, and a later process with the same `enrolment` and the same
 * `name` plays what is left. `client.withdraw` ends a run before it is done.
 * @throws LudexError an error of the server, such as `conflict` for settings that the run did not begin with, or
 * `connection_lost`; the run waits on the server.
 * @throws TypeError the agent returned something that is not a move.
 */
export function evaluate(
  url: string | string[], enrolment: Enrol, agent: Agent, options: EvaluateOptions,
): Promise<RunResult> {
  return new Promise((resolve, reject) => new Candidate(url, enrolment, agent, options, resolve, reject));
}

/** Plays the matches of a run. */
class Candidate extends Player {
  declare readonly options: EvaluateOptions;
  /** How many times the agent has enrolled; only the last answer counts. */
  #enrolments = 0;

  constructor(
    url: string | string[],
    readonly enrolment: Enrol,
    agent: Agent,
    options: EvaluateOptions,
    readonly resolve: (result: RunResult) => void,
    reject: (error: unknown) => void,
  ) {
    super(url, agent, options, reject);
  }

  /** Enrols after every welcome: the end of the run may have been told while nobody listened. */
  welcomed(): void {
    const enrolment = ++this.#enrolments;
    const outdated = () => this.over || enrolment !== this.#enrolments;
    this.session.post('enrol', this.enrolment, (reply) => {
      if (outdated()) return;
      if (reply.type !== 'error') {
        const { run, due, done, eta_ms } = reply;
        this.#tell({ run, due, done, eta_ms });
      } else if (reply.retry) {
        setTimeout(() => outdated() || this.welcomed(), reply.after_ms ?? RETRY_MS);
      } else {
        this.fail(new LudexError(reply));
      }
    });
  }

  protected lobby(message: LobbyMessage): void {
    if (message.type !== 'progress' && message.type !== 'run_end') return;
    if (message.run !== this.enrolment.run) return;
    const { type, ...rest } = message;
    if (type === 'progress') this.#tell(rest as RunStanding);
    else this.leave(() => this.resolve(rest as RunResult));
  }

  #tell(standing: RunStanding): void {
    try {
      this.options.on_progress?.(standing);
    } catch (error) {
      this.fail(error);
    }
  }

  /** A match of a run is never lost: after the next `enrolled`, a resync brings it back. */
  protected gone(match: string): void {
    this.forget(match);
  }
}
