import type { ErrorMessage, Issue } from './messages.js';
import type { MatchResult } from './result.js';

/**
 * Error of a refused request, or of a connection that could not be restored.
 *
 * `code` is a code of the protocol or of the client: `connection_lost` (no server responded in time), `session_lost` (the
 * session and its environments no longer exist on the server), `superseded` (a newer connection took over the session or
 * the seat), `protocol` (the server violated the protocol), `tls` (the certificate is not trusted, or one end does not use
 * TLS).
 */
export class LudexError extends Error {
  override readonly name = 'LudexError';
  readonly code: ErrorMessage['code'];
  readonly fault: ErrorMessage['fault'];
  /** True if the same request may succeed later. */
  readonly retry: boolean;
  /** Milliseconds to wait before the retry. */
  readonly after_ms?: number;
  /** Path of the invalid field, such as `params.rows`. */
  readonly path?: string;
  /** Index of the invalid list entry. */
  readonly index?: number;
  /** The invalid value. */
  readonly got?: unknown;
  /** Allowed values. */
  readonly allowed?: unknown;
  /** The most similar allowed value. */
  readonly nearest?: string;
  /** Validation errors of a document. */
  readonly issues: Issue[];
  /** URL of the cell that serves the request, for the code `moved`. */
  readonly at?: string;
  /** Results of `play` before the failure. */
  results?: MatchResult[];

  constructor(from: Pick<ErrorMessage, 'code' | 'message'> & Partial<ErrorMessage>) {
    super(from.message);
    this.code = from.code;
    this.fault = from.fault ?? 'client';
    this.retry = from.retry ?? false;
    if (from.after_ms != null) this.after_ms = from.after_ms;
    if (from.path != null) this.path = from.path;
    if (from.index != null) this.index = from.index;
    if (from.got != null) this.got = from.got;
    if (from.allowed != null) this.allowed = from.allowed;
    if (from.nearest != null) this.nearest = from.nearest;
    this.issues = from.issues ?? [];
    if (from.moved != null) this.at = from.moved.at;
  }
}

/** Creates an error of the client in the form of the server's errors. */
export function failure(code: ErrorMessage['code'], message: string, more: Partial<ErrorMessage> = {}): ErrorMessage {
  return { type: 'error', code, message, fault: 'server', retry: false, ...more };
}
