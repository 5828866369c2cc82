// Plays a run as a person: its matches in sequence.

import type { Enrol } from '../../clients/typescript/src/messages.js';
import { find } from './dom.js';
import { LiveMatch } from './live-match.js';
import { guestName } from './play-request.js';

export function runPlay(): void {
  const { run, suite, only, scale, agent, prefix } = find('#run-play').dataset;
  // A returning guest continues the run under the same name.
  const nameKey = `ludex:run:${run}`;
  const name = agent ?? guestName(prefix, localStorage.getItem(nameKey));
  if (!agent) localStorage.setItem(nameKey, name);
  const enrol: Enrol = { run: run! };
  if (suite) enrol.suite = suite;
  if (only) enrol.only = only.split(',');
  if (scale) enrol.scale = Number(scale);
  new LiveMatch({ game: `run:${run}`, clock: {}, enrol }, name, false, () => location.assign(`/runs/${run}`));
}
