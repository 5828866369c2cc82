// Recomputes the digest of a record: a SHA-256 chain over canonical JSON (docs/records.md).

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Returns canonical JSON (RFC 8785): keys sorted, numbers and strings as by `JSON.stringify`. */
function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`).join(',')}}`;
}

/** Footer keys that are excluded from the hash chain. */
const UNCHAINED = new Set(['seed', 'salt', 'digest', 'run', 'pair']);

/** Returns the hash of the previous hash and the next value. */
async function chainHash(before: Uint8Array<ArrayBuffer>, value: Json): Promise<Uint8Array<ArrayBuffer>> {
  const text = new TextEncoder().encode(canonicalJson(value));
  const bytes = new Uint8Array(before.length + text.length);
  bytes.set(before);
  bytes.set(text, before.length);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

/** Returns the digest of a record as the server sends it, in hexadecimal digits. */
export async function recordDigest(record: Record<string, Json>): Promise<string> {
  const keys = Object.keys(record);
  const middle = keys.indexOf('events');
  const pick = (some: string[]) => Object.fromEntries(some.map((key) => [key, record[key]!]));
  const header = pick(keys.slice(0, middle));
  const footer = pick(keys.slice(middle + 1).filter((key) => !UNCHAINED.has(key)));
  let chain = await chainHash(new Uint8Array(0), header);
  for (const event of record['events'] as Json[]) chain = await chainHash(chain, event);
  chain = await chainHash(chain, footer);
  return [...chain].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
