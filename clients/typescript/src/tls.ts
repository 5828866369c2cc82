// TLS in Node: trusted certificates, and advice for failed connections. In browsers, the browser decides.

/** Returns the trusted certificates (PEM): those of Node, and `own` or else those in the file SSL_CERT_FILE. */
export async function trustedCertificates(own?: string): Promise<string[] | undefined> {
  if (typeof process === 'undefined' || !process.versions?.node) return undefined;
  const file = process.env.SSL_CERT_FILE;
  if (own === undefined && !file) return undefined;
  const { readFile } = await import('node:fs/promises');
  const { rootCertificates } = await import('node:tls');
  return [...rootCertificates, own ?? (await readFile(file!, 'utf8'))];
}

/** Returns advice for a TLS failure; absent for failures that a retry may fix. */
export function advice(url: string, why: string): string | undefined {
  const encrypted = url.startsWith('wss:');
  if (!encrypted && /Expected HTTP|Invalid HTTP/i.test(why)) return 'the server uses TLS; use wss:// instead of ws://';
  if (encrypted && /wrong version number|packet length too long/i.test(why)) {
    return 'the server does not use TLS; use ws:// instead of wss://';
  }
  if (encrypted && /self[- ]signed|unable to (verify|get)|certificate/i.test(why)) {
    return `${why}; for a private certificate, set the option ca (PEM) or SSL_CERT_FILE`;
  }
  return undefined;
}
