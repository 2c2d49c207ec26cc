import type { CorsRule } from '../disk/index-record.ts';
import { type Call, sendEmpty } from '../protocol/call.ts';
import { readXml } from '../protocol/request-body.ts';
import { noSuchBucket, S3Error } from '../protocol/s3-error.ts';
import type { XmlElement } from '../protocol/xml-reader.ts';

const maxBodyBytes = 64 * 1024;
const maxRules = 100;
const methods = new Set(['GET', 'PUT', 'HEAD', 'POST', 'DELETE']);
const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/**
 * PUT /bucket?cors: from now on only the origins in these rules may read answers of this bucket in a browser.
 *
 * @throws S3Error NoSuchBucket, MalformedXML, InvalidRequest
 */
export async function putBucketCors(call: Call): Promise<void> {
  const cors = readRules(await readXml(call, maxBodyBytes));
  const found = await call.store.index.updateBucket(call.bucket, (record) => ({ ...record, cors }));
  if (!found) throw noSuchBucket(call.bucket);
  sendEmpty(call, 200);
}

function readRules({ name, children }: XmlElement): CorsRule[] {
  const rules = children.every((child) => child.name === 'CORSRule');
  if (name === 'CORSConfiguration' && rules && children.length >= 1 && children.length <= maxRules) {
    return children.map(readRule);
  }
  throw new S3Error('MalformedXML', `Send a CORSConfiguration with 1 to ${maxRules} CORSRule elements.`);
}

function readRule({ children }: XmlElement): CorsRule {
  const known = new Set(['ID', 'AllowedOrigin', 'AllowedMethod', 'AllowedHeader', 'ExposeHeader', 'MaxAgeSeconds']);
  const unknown = children.find((child) => !known.has(child.name));
  if (unknown) throw new S3Error('MalformedXML', `A CORSRule has no element ${unknown.name}.`);
  const values = (name: string) => children.filter((child) => child.name === name).map((child) => child.text.trim());
  const rule: CorsRule = {
    allowedOrigins: values('AllowedOrigin'),
    allowedMethods: values('AllowedMethod'),
    allowedHeaders: values('AllowedHeader'),
    exposeHeaders: values('ExposeHeader'),
  };
  requireValid(rule);
  const id = readOne('ID', values('ID'), /^.{1,255}$/su);
  if (id !== undefined) rule.id = id;
  const age = readOne('MaxAgeSeconds', values('MaxAgeSeconds'), /^\d{1,9}$/);
  if (age !== undefined) rule.maxAgeSeconds = Number(age);
  return rule;
}

function readOne(name: string, values: readonly string[], form: RegExp): string | undefined {
  const [value] = values;
  if (value === undefined) return undefined;
  if (values.length === 1 && form.test(value)) return value;
  throw new S3Error('MalformedXML', `A CORSRule has at most one ${name}, which must match ${form.source}.`);
}

function requireValid({ allowedOrigins, allowedMethods, allowedHeaders, exposeHeaders }: CorsRule): void {
  if (allowedOrigins.length === 0 || allowedMethods.length === 0) {
    throw new S3Error('MalformedXML', 'Each CORSRule needs an AllowedOrigin and an AllowedMethod.');
  }
  const method = allowedMethods.find((value) => !methods.has(value));
  if (method !== undefined) {
    throw new S3Error('InvalidRequest', `The AllowedMethod "${method}" is not one of ${[...methods].join(', ')}.`);
  }
  const origin = allowedOrigins.find((value) => !/^[\x21-\x7e]+$/.test(value) || hasStars(value));
  if (origin !== undefined) {
    throw new S3Error('InvalidRequest', `The AllowedOrigin "${origin}" must be an origin with at most one "*".`);
  }
  const header = allowedHeaders.find((value) => !token.test(value) || hasStars(value));
  if (header !== undefined) {
    throw new S3Error('InvalidRequest', `The AllowedHeader "${header}" must be a header name with at most one "*".`);
  }
  const exposed = exposeHeaders.find((value) => !token.test(value) || value.includes('*'));
  if (exposed !== undefined) {
    throw new S3Error('InvalidRequest', `The ExposeHeader "${exposed}" must be a header name without "*".`);
  }
}

function hasStars(value: string): boolean {
  return value.indexOf('*') !== value.lastIndexOf('*');
}
