import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { explainFailure } from '../../store/explain-failure.ts';
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
    const { found, mend } = explainFailure(error as NodeJS.ErrnoException, { host, setting, what: 'the object store' });
    return failed(`${endpoint} cannot be reached: ${found}.`, mend);
  }
}

/** Whether only this machine can use a URL. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname);
}
