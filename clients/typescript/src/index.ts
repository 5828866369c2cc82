/** Ludex: games as environments, over one WebSocket. */
export { Batch, CHANCE, OVER, SIMULTANEOUS, type Final, type Views } from './batch.js';
export { Client, Env, type Look, type Seed, type Seen } from './client.js';
export type { Ragged, Tensor, Tensors } from './columns.js';
export { LudexError } from './errors.js';
export type * from './messages.js';
export { play, type PlayOptions, type Refusal, type Turn } from './play.js';
export type { MatchResult } from './result.js';
export type { ConnectOptions } from './session.js';
export type { Encoding } from './wire.js';
