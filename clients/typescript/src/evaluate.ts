// Runs: plays a suite of the server to its end (docs/runs.md).

import { LudexError } from './errors.js';
import type { Enrol, LobbyMessage } from './messages.js';
import { type Agent, Player, type PlayerOptions } from './player.js';
import type { RunResult, RunStanding } from './result.js';
import type { SeatRef } from './session.js';

const RETRY_MS = 1_000;

export interface EvaluateOptions extends PlayerOptions {
  /** Name of the agent. Only an agent of the same name can continue the run. */
  name: string;
  /** Called after enrolling, after each reconnection, and after each match. */
  on_progress?(standing: RunStanding): void;
}

/**
 * Enrolls `agent` in a run, plays all matches, and returns the result. A lost connection is resumed automatically. If
 * the process ends, another process with the same `enrolment` and `name` can play the remaining matches. To end a run
 * early, use `client.withdraw`.
 * @throws LudexError an error of the server, such as `conflict` for settings that differ from those of the run, or
 * `connection_lost`; the run stays open on the server.
 * @throws TypeError if the agent does not return a move.
 */
export function evaluate(
  url: string | string[], enrolment: Enrol, agent: Agent, options: EvaluateOptions,
): Promise<RunResult> {
  return new Promise((resolve, reject) => new RunPlayer(url, enrolment, agent, options, resolve, reject));
}

/** Plays the matches of a run. */
class RunPlayer extends Player {
  declare readonly options: EvaluateOptions;
  /** Number of `enrol` requests; only the reply to the last request counts. */
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

  /** Enrolls after every connection, since `run_end` may have been sent while disconnected. */
  onWelcome(): void {
    const enrolment = ++this.#enrolments;
    const outdated = () => this.over || enrolment !== this.#enrolments;
    this.session.post('enrol', this.enrolment, (reply) => {
      if (outdated()) return;
      if (reply.type !== 'error') {
        const { run, due, done, eta_ms } = reply;
        this.#report({ run, due, done, eta_ms });
      } else if (reply.retry) {
        setTimeout(() => outdated() || this.onWelcome(), reply.after_ms ?? RETRY_MS);
      } else {
        this.fail(new LudexError(reply));
      }
    });
  }

  protected onLobby(message: LobbyMessage): void {
    if (message.type !== 'progress' && message.type !== 'run_end') return;
    if (message.run !== this.enrolment.run) return;
    const { type, ...rest } = message;
    if (type === 'progress') this.#report(rest as RunStanding);
    else this.leave(() => this.resolve(rest as RunResult));
  }

  #report(standing: RunStanding): void {
    try {
      this.options.on_progress?.(standing);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Removes the seat; a resync restores it after the next `enrolled`. */
  protected onSeatLost(at: SeatRef): void {
    this.forget(at);
  }
}
