import type { ErrorMessage, Issue } from './messages.js';
import type { MatchResult } from './result.js';

/**
 * The server refused a request, or the connection was lost for good.
 *
 * `code` is the protocol's, or one of the client's own: `connection_lost` (no server answered in time), `session_lost`
 * (the server no longer knows this session: its environments are gone), `superseded` (a newer connection took the
 * session or the seat), `protocol` (the server sent something that the protocol does not allow), `tls` (a certificate is
 * not trusted, or one end does not speak TLS).
 */
export class LudexError extends Error {
  override readonly name = 'LudexError';
  readonly code: ErrorMessage['code'];
  readonly fault: ErrorMessage['fault'];
  /** Whether the same request may succeed later. */
  readonly retry: boolean;
  /** Milliseconds to wait before that. */
  readonly after_ms?: number;
  /** The wrong field, e.g. `params.rows`. */
  readonly path?: string;
  /** The position of the wrong entry in a list. */
  readonly at?: number;
  /** The wrong value. */
  readonly got?: unknown;
  /** Values that would be accepted. */
  readonly allowed?: unknown;
  /** The accepted word that is most similar. */
  readonly nearest?: string;
  /** What is wrong with a document. */
  readonly issues: Issue[];
  /** The matches that `play` had finished before it failed. */
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
    this.issues = from.issues ?? [];
  }
}

/** Makes an error of the client itself, in the form of the server's errors. */
export function failure(code: ErrorMessage['code'], message: string, more: Partial<ErrorMessage> = {}): ErrorMessage {
  return { type: 'error', code, message, fault: 'server', retry: false, ...more };
}
