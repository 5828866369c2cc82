/** Ludex: games as environments, over one WebSocket. */
export { Batch, CHANCE, OVER, SIMULTANEOUS, type Final, type Views } from './batch.js';
export { Client, type ClientOptions, Env, type Seed, type ViewOptions, type ViewResult } from './client.js';
export type { Ragged, Tensor, Tensors } from './columns.js';
export { LudexError } from './errors.js';
export { evaluate, type EvaluateOptions } from './evaluate.js';
export type * from './messages.js';
export { play, type PlayOptions } from './play.js';
export { type Agent, Answer, type Refusal, type Turn } from './player.js';
export type { MatchResult, RunResult, RunStanding } from './result.js';
export type { ConnectOptions } from './session.js';
export type { Encoding } from './wire.js';
