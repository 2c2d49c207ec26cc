const unknownAuthority = 'this machine does not trust the authority that signed its certificate';
const untrusted: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
};

/** Why a connection failed, and what to do about it. */
export function explainFailure(
  error: NodeJS.ErrnoException,
  { host, setting, what }: { host: string; setting: string; what: string },
): { found: string; mend: string } {
  const code = error.code ?? '';
  const start = `Check ${setting}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return { found: `the name ${host} cannot be resolved (${code})`, mend: `${start}, and the DNS of this machine.` };
  }
  if (code === 'ECONNREFUSED') {
    return { found: 'nothing listens there', mend: `${start}, and that ${what} is running.` };
  }
  if (code === 'CERT_HAS_EXPIRED') return { found: `its certificate has expired (${code})`, mend: 'Renew it.' };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return { found: `its certificate is for another name (${code})`, mend: `${start}, or renew it for this name.` };
  }
  const certificate = untrusted[code];
  if (certificate !== undefined) {
    const mend =
      'Give it a valid certificate, or name the file of the authority that signed it in the environment variable NODE_EXTRA_CA_CERTS (in .env, it has no effect).';
    return { found: `${certificate} (${code})`, mend };
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return { found: `it does not speak TLS (${code})`, mend: `${start}: it may have to start with http://.` };
  }
  if (code.startsWith('HPE_')) {
    return { found: `it does not speak HTTP (${code})`, mend: `${start}: it may have to start with https://.` };
  }
  return { found: code || error.message, mend: `${start}, and what is in between: firewalls, proxies, routes.` };
}
