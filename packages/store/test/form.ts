import { createHmac } from 'node:crypto';
import { bucket, keys, region } from './running-store.ts';

export type Fields = Record<string, string>;

/** The fields of a form that its policy allows: these, with a condition for each, and additional conditions. */
export function signForm(
  fields: Fields,
  more: unknown[] = [],
  { expiresInSeconds = 60, now = Date.now(), covered = Object.keys(fields) } = {},
): Fields {
  const amzDate = `${new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
  const date = amzDate.slice(0, 8);
  const signature: Fields = {
    'x-amz-algorithm': 'AWS4-HMAC-SHA256',
    'x-amz-credential': `${keys.accessKeyId}/${date}/${region}/s3/aws4_request`,
    'x-amz-date': amzDate,
  };
  const conditions = [
    { bucket },
    ...Object.entries({ ...fields, ...signature }).flatMap(([name, value]) =>
      name in signature || covered.includes(name) ? [{ [name]: value }] : [],
    ),
    ...more,
  ];
  const expiration = new Date(now + expiresInSeconds * 1000).toISOString();
  return { ...fields, ...signature, ...signPolicy(JSON.stringify({ expiration, conditions }), date) };
}

/** A policy with any content, correctly signed. */
export function signPolicy(document: string, date: string): Fields {
  const policy = Buffer.from(document).toString('base64');
  let key: Buffer = Buffer.from(`AWS4${keys.secretAccessKey}`);
  for (const part of [date, region, 's3', 'aws4_request']) key = createHmac('sha256', key).update(part).digest();
  return { policy, 'x-amz-signature': createHmac('sha256', key).update(policy).digest('hex') };
}

const boundary = 'a-boundary-of-the-tests';

/** The body of a form, as a browser sends it. */
export function formBody(fields: Fields, file?: string | Buffer, fileName = 'photo.jpg'): Buffer {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  if (file !== undefined) {
    const disposition = `form-data; name="file"; filename="${fileName}"`;
    parts.push(`--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: image/jpeg\r\n\r\n`);
  }
  const end = `${file === undefined ? '' : '\r\n'}--${boundary}--\r\n`;
  return Buffer.concat([Buffer.from(parts.join('')), Buffer.from(file ?? ''), Buffer.from(end)]);
}

export const formType = `multipart/form-data; boundary=${boundary}`;
