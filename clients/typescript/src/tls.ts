// TLS in Node: which certificates are trusted, and what to do about a connection that fails because of it.
//
// In browsers the browser decides.

/** The certificates to trust (PEM) beside those of Node: `own`, or those in the file that SSL_CERT_FILE names. */
export async function trusted(own?: string): Promise<string[] | undefined> {
  if (typeof process === 'undefined' || !process.versions?.node) return undefined;
  const file = process.env.SSL_CERT_FILE;
  if (own === undefined && !file) return undefined;
  const { readFile } = await import('node:fs/promises');
  const { rootCertificates } = await import('node:tls');
  return [...rootCertificates, own ?? (await readFile(file!, 'utf8'))];
}

/** What to do about a failure, if trying again does not help. */
export function advice(url: string, why: string): string | undefined {
  const encrypted = url.startsWith('wss:');
  if (!encrypted && /Expected HTTP|Invalid HTTP/i.test(why)) return 'the server speaks TLS: use wss:// instead of ws://';
  if (encrypted && /wrong version number|packet length too long/i.test(why)) {
    return 'the server does not speak TLS: use ws:// instead of wss://';
  }
  if (encrypted && /self[- ]signed|unable to (verify|get)|certificate/i.test(why)) {
    return `${why}; if the certificate is your own, give it as the option ca (PEM) or name its file in SSL_CERT_FILE`;
  }
  return undefined;
}
