import type { ErrorMessage } from './messages.js';
import type { MatchResult } from './play.js';

/**
 * What the server refused, or a connection that could not be kept.
 *
 * `code` is the protocol's, or one of the client's own: `connection_lost` (no server answered in time), `session_lost`
 * (the server no longer knows this session: its environments are gone), `superseded` (a newer connection took the
 * session or the seat), `protocol` (the server sent what the protocol does not allow).
 */
export class LudexError extends Error {
  override readonly name = 'LudexError';
  readonly code: ErrorMessage['code'];
  readonly fault: ErrorMessage['fault'];
  /** The same request may succeed later. */
  readonly retry: boolean;
  /** Milliseconds to wait before that. */
  readonly after_ms?: number;
  /** The field that is wrong, e.g. `params.rows`. */
  readonly path?: string;
  /** The position in the list that is wrong. */
  readonly at?: number;
  /** What stood there. */
  readonly got?: unknown;
  /** What may stand there. */
  readonly allowed?: unknown;
  /** The allowed word most like it. */
  readonly nearest?: string;
  /** What `play` had finished before it failed. */
  results?: MatchResult[];

  constructor(from: Pick<ErrorMessage, 'code' | 'message'> & Partial<ErrorMessage>) {
    super(from.message);
    this.code = from.code;
    this.fault = from.fault ?? 'client';
    this.retry = from.retry ?? false;
    if (from.after_ms != null) this.after_ms = from.after_ms;
    if (from.path != null) this.path = from.path;
    if (from.at != null) this.at = from.at;
    if (from.got != null) this.got = from.got;
    if (from.allowed != null) this.allowed = from.allowed;
    if (from.nearest != null) this.nearest = from.nearest;
  }
}

/** An error that the client itself reports, in the form of the server's. */
export function failure(code: ErrorMessage['code'], message: string, more: Partial<ErrorMessage> = {}): ErrorMessage {
  return { type: 'error', code, message, fault: 'server', retry: false, ...more };
}
