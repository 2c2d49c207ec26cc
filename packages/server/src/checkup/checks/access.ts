import { findDocument } from '@cadiz/store/xml-reader';
import { isFarApart, toAhead } from '../../store/clock-difference.ts';
import { findError, textOf } from '../../store/s3-answer.ts';
import { type Check, failed, ok, warning } from '../check.ts';
import type { Answer } from '../requests.ts';

const minuteMilliseconds = 60_000;
const reached = ['service-reaches'];

export const clock: Check = {
  id: 'clock',
  title: 'The clocks of the service and of the store agree',
  needs: reached,
  async run(exam) {
    const answer = await exam.first();
    const ahead = toAhead(exam.now(), answer.headers.date);
    const refused = codeOf(answer) === 'RequestTimeTooSkewed';
    const mend = 'Synchronize the clocks of both machines with NTP (timedatectl, chrony).';
    if (refused || Math.abs(ahead) > 15 * minuteMilliseconds) {
      const refusal = refused
        ? 'The store refuses requests because of it (RequestTimeTooSkewed)'
        : 'Stores refuse that';
      return failed(`${refusal}: ${toDifference(ahead) ?? 'they are more than 15 minutes apart'}.`, mend);
    }
    if (Number.isNaN(ahead)) return ok('the store sends no time, and accepts that of the service');
    if (!isFarApart(ahead)) return ok('less than a minute apart');
    return warning(`${toDifference(ahead)}. Up to 15 minutes are tolerated, but URLs expire early or late.`, mend);
  },
};

function toDifference(ahead: number): string | undefined {
  const minutes = Math.round(Math.abs(ahead) / minuteMilliseconds);
  // The Date header may come from a proxy, and not show the time of the store.
  if (Number.isNaN(ahead) || minutes === 0) return undefined;
  return `this machine is ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} ${ahead > 0 ? 'ahead of' : 'behind'} the store`;
}

export const region: Check = {
  id: 'region',
  title: 'S3_REGION is the region of the bucket',
  needs: ['clock'],
  async run(exam) {
    const answer = await exam.first();
    const wanted = exam.settings.region;
    const told = findRegion(answer);
    const isRefused = regionCodes.has(codeOf(answer)) || (answer.status === 301 && told !== undefined);
    if (!isRefused && (told === undefined || told === wanted)) return ok(wanted);
    if (told === undefined || told === wanted) {
      return failed(
        `The store refuses a signature for the region "${wanted}": ${toReason(answer)}.`,
        'Set S3_REGION to the region that the store was set up with; its documentation or configuration names it.',
      );
    }
    return failed(`S3_REGION is "${wanted}", and the store says "${told}".`, `Set S3_REGION=${told}.`);
  },
};

const regionCodes = new Set([
  'AuthorizationHeaderMalformed',
  'AuthorizationQueryParametersError',
  'PermanentRedirect',
  'IllegalLocationConstraintException',
]);

/** The right region according to the store: AWS names it in an element and a header, others only in the message. */
function findRegion({ headers, text }: Answer): string | undefined {
  const header = headers['x-amz-bucket-region'];
  if (typeof header === 'string' && header !== '') return header;
  const root = findDocument(text);
  if (root?.name !== 'Error') return undefined;
  const sentence = /(?:expecting|sign for|should be) ["'‘“]([\w-]+)/i.exec(textOf(root, 'Message'));
  return textOf(root, 'Region') || sentence?.[1];
}

export const credentials: Check = {
  id: 'credentials',
  title: 'The store accepts the access key and its secret',
  needs: ['region'],
  async run(exam) {
    const answer = await exam.first();
    const code = codeOf(answer);
    if (code === 'InvalidAccessKeyId') {
      return failed(`It does not know the access key ${exam.settings.accessKeyId}.`, 'Check S3_ACCESS_KEY_ID.');
    }
    if (code === 'SignatureDoesNotMatch') {
      return failed(
        `It knows the access key ${exam.settings.accessKeyId}, but says that the signature is wrong (SignatureDoesNotMatch).`,
        'Check S3_SECRET_ACCESS_KEY. If it is right, something in between changes the Host header or the path: requests to S3_ENDPOINT must reach the store unchanged.',
      );
    }
    if (answer.status >= 500) return failed(`It answers ${toReason(answer)}.`, 'See the log of the object store.');
    return ok(exam.settings.accessKeyId);
  },
};

export const wrongSecret: Check = {
  id: 'wrong-secret',
  title: 'It refuses a wrong secret',
  needs: ['credentials'],
  async run(exam) {
    const query = { 'list-type': '2', 'max-keys': '1' };
    const answer = await exam.ask({ method: 'GET', query, as: { secretAccessKey: 'not-the-secret-of-this-key' } });
    const { status } = answer;
    if (status >= 400 && status < 500) return ok(toReason(answer));
    return failed(
      `It answers ${status} to a request with a wrong signature: anybody can do anything to this bucket.`,
      'Use a store that checks signatures, and make sure that nothing answers in its place.',
    );
  },
};

export const bucket: Check = {
  id: 'bucket',
  title: 'The bucket exists and can be listed',
  needs: ['credentials'],
  async run(exam) {
    const name = exam.settings.bucket;
    const answer = await exam.first();
    if (answer.status === 404) {
      return failed(
        `There is no bucket "${name}" (${toReason(answer)}).`,
        'Check S3_BUCKET. If it is right, start the service once, which creates the bucket, or create it yourself.',
      );
    }
    if (answer.status === 403) {
      return failed(
        `The access key may not list the bucket "${name}" (${toReason(answer)}).`,
        'Allow it s3:ListBucket on the bucket, or check S3_BUCKET: the bucket may belong to somebody else.',
      );
    }
    if (answer.status === 200 && findDocument(answer.text)?.name === 'ListBucketResult') return ok(name);
    return failed(
      `The answer to a listing is ${toReason(answer)}, but not a listing.`,
      'Check that S3_ENDPOINT is the URL of an S3 store, and not of its console or of a web server in front of it.',
    );
  },
};

export const pathStyle: Check = {
  id: 'path-style',
  title: 'Path-style URLs work',
  needs: ['bucket'],
  async run(exam) {
    const root = findDocument((await exam.first()).text);
    const named = root && textOf(root, 'Name');
    if (named === undefined || named === '' || named === exam.settings.bucket) return ok('/bucket/key');
    return failed(
      `When asked for /${exam.settings.bucket}, the store lists the bucket "${named}": it takes the bucket from the host name.`,
      'Cadiz only uses path-style URLs. Set S3_ENDPOINT to the URL of the store without a bucket in it.',
    );
  },
};

/** The S3 error code of an answer, or '' if it has none. */
export function codeOf(answer: Pick<Answer, 'text'>): string {
  return findError(answer)?.code ?? '';
}

/** Such as `403 AccessDenied`. */
export function toReason(answer: Pick<Answer, 'status' | 'text'>): string {
  return [answer.status, codeOf(answer)].filter((part) => part !== '').join(' ');
}
