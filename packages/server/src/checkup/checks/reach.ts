import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type Check, type Finding, failed, ok } from '../check.ts';
import type { Examination } from '../examination.ts';

export const serviceReaches: Check = {
  id: 'service-reaches',
  title: 'The service reaches the object store',
  run: (exam) => reach(exam, exam.settings.endpoint, 'S3_ENDPOINT'),
};

export const clientsReach: Check = {
  id: 'clients-reach',
  title: 'Clients reach it where presigned URLs point',
  run: (exam) => reach(exam, exam.settings.publicEndpoint, 'S3_PUBLIC_ENDPOINT'),
};

export const addressFits: Check = {
  id: 'address-fits',
  title: 'That URL can be used together with CADIZ_PUBLIC_URL',
  async run({ settings, publicUrl }) {
    const [service, store] = [new URL(publicUrl), new URL(settings.publicEndpoint)];
    const at = `Presigned URLs start with ${settings.publicEndpoint}, and people use ${publicUrl}`;
    if (isLoopback(store) && !isLoopback(service)) {
      return failed(
        `${at}: other machines cannot reach the former.`,
        'Set S3_PUBLIC_ENDPOINT to the URL at which clients reach the object store.',
      );
    }
    if (service.protocol === 'https:' && store.protocol === 'http:' && !isLoopback(store)) {
      return failed(
        `${at}: browsers refuse to send from an https page to an http URL (mixed content).`,
        'Put the object store behind https, and set S3_PUBLIC_ENDPOINT to that URL.',
      );
    }
    return ok(settings.publicEndpoint);
  },
};

async function reach(exam: Examination, endpoint: string, setting: string): Promise<Finding> {
  const { hostname, protocol } = new URL(endpoint);
  const host = hostname.replace(/^\[|\]$/g, '');
  try {
    if (!isIP(host)) await lookup(host);
    await exam.send({ method: 'GET', url: `${endpoint}/` });
    return ok(`${endpoint} answers${protocol === 'https:' ? ', and its certificate is valid' : ''}`);
  } catch (error) {
    const { found, mend } = explain(error as NodeJS.ErrnoException, { host, setting, what: 'the object store' });
    return failed(`${endpoint} cannot be reached: ${found}.`, mend);
  }
}

const certificateCodes: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'this machine does not trust the authority that signed its certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'this machine does not trust the authority that signed its certificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'this machine does not trust the authority that signed its certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** Why a connection failed, and what to do about it. */
export function explain(
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
  const certificate = certificateCodes[code];
  if (certificate !== undefined) {
    const mend = 'Give it a valid certificate, or name the authority that signed it in NODE_EXTRA_CA_CERTS.';
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

/** Whether only this machine can use a URL. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname);
}
