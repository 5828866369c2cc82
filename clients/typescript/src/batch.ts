// Results of `reset`, `step` and `restore`: one row per environment, as typed arrays.

import { column, ragged, tensors, type Ragged, type Tensors } from './columns.js';
import type { Spec, WireBatch, WireColumn, WireFinal, WireTensors } from './messages.js';

/** Values of `to_move` that are not seats. */
export const CHANCE = -1;
export const SIMULTANEOUS = -2;
export const OVER = -4;

/** Views of the seats; a view that was not requested is absent. */
export interface Views {
  obs?: Tensors;
  /** Perfect-recall tensors. */
  info?: Tensors;
  /** R entries, or R x P in row order with `observer: 'all'`. The same applies to `text`. */
  struct?: unknown[];
  text?: string[];
}

/** Final states of the episodes that `same_step` reset in this batch. */
export interface Final extends Views {
  /** Rows of the ended episodes. */
  at: Uint32Array;
  seat?: Int8Array;
  /** K x P, for K ended episodes. */
  returns: Float64Array;
  length: Uint32Array;
}

/** Columns of R rows for P seats and A actions; for their definitions, see section 4 of docs/protocol.md. */
export class Batch implements Views {
  readonly rows: number;
  /** Indices of the environments, if the request selected environments. */
  readonly envs?: Uint32Array;
  /** R: seat >= 0, or `CHANCE`, `SIMULTANEOUS`, `OVER`. */
  readonly to_move: Int8Array;
  /** R: the client's seat, if it has exactly one. */
  readonly seat?: Int8Array;
  /** First axis R, or first axes R and P with `observer: 'all'`. */
  readonly obs?: Tensors;
  readonly info?: Tensors;
  readonly struct?: unknown[];
  readonly text?: string[];
  /** Bytes R x A, bits R x ceil(A/8), or R lists of ids; with `observer: 'all'`, R x P rows. See `legal`. */
  readonly mask?: Uint8Array | Ragged;
  /** Outcomes and probabilities of chance nodes, with `chance: 'client'`. */
  readonly chance?: Ragged & { p: Float64Array };
  /** R x P: rewards since the client's previous action. */
  readonly reward: Float32Array;
  /** R x P: rewards of the episode so far (view `returns`). */
  readonly returns?: Float64Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  /** R: number of moves so far. */
  readonly length: Uint32Array;
  readonly episode: Uint32Array;
  readonly final?: Final;
  /** Rows that lost by an illegal action (`on_illegal: 'lose'`). */
  readonly illegal?: Uint32Array;
  /** Episodes that ended before the client's first action. */
  readonly skipped?: { at: Uint32Array; returns: Float64Array };
  readonly #spec: Pick<Spec, 'players' | 'actions'>;
  readonly #perRow: number;

  /** @throws LudexError `protocol` if the columns differ in their number of rows. */
  constructor(message: WireBatch, spec: Pick<Spec, 'players' | 'actions'>, everySeat: boolean) {
    this.#spec = spec;
    this.#perRow = everySeat ? spec.players : 1;
    this.to_move = column(message.to_move, 'i1');
    const rows = (this.rows = this.to_move.length);
    this.reward = column(message.reward, 'f4', rows * spec.players);
    this.terminated = column(message.terminated, 'u1', rows);
    this.truncated = column(message.truncated, 'u1', rows);
    this.length = column(message.length, 'u4', rows);
    this.episode = column(message.episode, 'u4', rows);
    const { envs, seat, returns, mask, chance, final, illegal, skipped } = message;
    Object.assign(this, views(message));
    if (envs != null) this.envs = column(envs, 'u4', rows);
    if (seat != null) this.seat = column(seat, 'i1', rows);
    if (returns != null) this.returns = column(returns, 'f8', rows * spec.players);
    if (mask != null) this.mask = 'o' in mask ? ragged(mask) : column(mask as WireColumn, 'u1');
    if (chance != null) this.chance = { ...ragged(chance), p: column(chance.p, 'f8') };
    if (final != null) this.final = finalRows(final, spec.players);
    if (illegal != null) this.illegal = column(illegal, 'u4');
    if (skipped != null) this.skipped = { at: column(skipped.at, 'u4'), returns: column(skipped.returns, 'f8') };
  }

  /** Returns true if the episode of `row` has terminated or was truncated. */
  over(row: number): boolean {
    return this.terminated[row] === 1 || this.truncated[row] === 1;
  }

  /**
   * Returns the legal ids of a row in ascending order, for any mask encoding. The ids are those of the observing seat,
   * or of `seat` with `observer: 'all'`. At chance nodes with `chance: 'client'`, the ids are outcomes.
   */
  legal(row = 0, seat = 0): number[] {
    const { mask, chance } = this;
    if (chance && this.to_move[row] === CHANCE) return [...chance.a.subarray(chance.o[row], chance.o[row + 1])];
    if (!mask) return [];
    const at = row * this.#perRow + (this.#perRow > 1 ? seat : 0);
    if ('o' in mask) return [...mask.a.subarray(mask.o[at], mask.o[at + 1])];
    const width = mask.length / (this.rows * this.#perRow);
    const bits = width < this.#spec.actions;
    const ids: number[] = [];
    for (let id = 0; id < this.#spec.actions; id++) {
      const byte = mask[at * width + (bits ? id >> 3 : id)]!;
      if (bits ? (byte >> (id & 7)) & 1 : byte) ids.push(id);
    }
    return ids;
  }
}

type WireViews = { [K in keyof Views]: K extends 'obs' | 'info' ? WireTensors : Views[K] };

function views({ obs, info, struct, text }: WireViews): Views {
  const found: Views = {};
  if (obs != null) found.obs = tensors(obs);
  if (info != null) found.info = tensors(info);
  if (struct != null) found.struct = struct;
  if (text != null) found.text = text;
  return found;
}

function finalRows(message: WireFinal, players: number): Final {
  const at = column(message.at, 'u4');
  const final: Final = {
    at,
    ...views(message),
    returns: column(message.returns, 'f8', at.length * players),
    length: column(message.length, 'u4', at.length),
  };
  if (message.seat != null) final.seat = column(message.seat, 'i1', at.length);
  return final;
}
