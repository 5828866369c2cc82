// A person's seat in a run: the matches that are due, one after the other.

import type { Enrol } from '../../clients/typescript/src/messages.js';
import { find } from './dom.js';
import { Table } from './table.js';
import { guest } from './wish.js';

export function enrolled(): void {
  const { run, suite, only, scale, agent, prefix } = find('#enrolled').dataset;
  // A guest comes back to the run under the same name.
  const kept = `ludex:run:${run}`;
  const name = agent ?? guest(prefix, localStorage.getItem(kept));
  if (!agent) localStorage.setItem(kept, name);
  const enrol: Enrol = { run: run! };
  if (suite) enrol.suite = suite;
  if (only) enrol.only = [only];
  if (scale) enrol.scale = Number(scale);
  new Table({ game: `run:${run}`, clock: {}, enrol }, name, false, () => location.assign(`/runs/${run}`));
}
