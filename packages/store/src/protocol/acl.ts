import { type Call, sendEmpty, sendXml } from './call.ts';
import { ownerElement, ownerId } from './owner.ts';
import { parseDocument, readBody } from './request-body.ts';
import { S3Error } from './s3-error.ts';
import { document, element, textElement } from './xml.ts';
import type { XmlElement } from './xml-reader.ts';

// Rights that the owner of everything has anyway.
const harmlessAcls = new Set(['private', 'bucket-owner-full-control', 'bucket-owner-read']);
const refusedAcls = new Set([
  'public-read',
  'public-read-write',
  'authenticated-read',
  'aws-exec-read',
  'log-delivery-write',
]);
const maxBodyBytes = 64 * 1024;

/**
 * Whether a header or a form field asks for an ACL that changes nothing. One that would make anything public is
 * refused: this store gives nothing to unsigned requests, and must not seem to.
 *
 * @throws S3Error AccessControlListNotSupported, InvalidArgument
 */
export function isHarmlessAcl(name: string, value: string): boolean {
  if (name.startsWith('x-amz-grant-')) throw notSupported(name);
  if (name !== 'x-amz-acl') return false;
  if (harmlessAcls.has(value)) return true;
  if (refusedAcls.has(value)) throw notSupported(`x-amz-acl: ${value}`);
  throw new S3Error('InvalidArgument', `"${value}" is not a canned ACL: use private.`);
}

function notSupported(what: string): S3Error {
  const advice = 'Everything belongs to the one owner: use private, and presigned URLs for others.';
  return new S3Error('AccessControlListNotSupported', `${what} would give others access. ${advice}`);
}

/** Answers with the only ACL there is: full control for the owner. */
export function sendOwnerAcl(call: Call): void {
  const type = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"';
  const grantee = `<Grantee ${type}>${textElement('ID', ownerId)}${textElement('DisplayName', 'owner')}</Grantee>`;
  const grant = element('Grant', [grantee, textElement('Permission', 'FULL_CONTROL')]);
  sendXml(call, document('AccessControlPolicy', [ownerElement(), element('AccessControlList', [grant])]));
}

/**
 * Accepts an ACL that gives full control to the owner and nothing to anybody else, in a header or as a document.
 *
 * @throws S3Error AccessControlListNotSupported, MalformedXML, InvalidRequest
 */
export async function takeOwnerAcl(call: Call): Promise<void> {
  const body = await readBody(call, maxBodyBytes);
  const canned = call.headers['x-amz-acl'] !== undefined;
  if (body.length > 0) requireOwnersOnly(parseDocument(body));
  else if (!canned) throw new S3Error('InvalidRequest', 'Send the header x-amz-acl, or an AccessControlPolicy.');
  sendEmpty(call, 200);
}

function requireOwnersOnly({ name, children }: XmlElement): void {
  const list = children.find((child) => child.name === 'AccessControlList');
  if (name !== 'AccessControlPolicy' || !list) {
    throw new S3Error('MalformedXML', 'Send an AccessControlPolicy with an AccessControlList.');
  }
  for (const grant of list.children) {
    const grantee = grant.children.find((child) => child.name === 'Grantee');
    const id = grantee?.children.find((child) => child.name === 'ID')?.text.trim();
    const others = grantee?.children.some((child) => child.name !== 'ID' && child.name !== 'DisplayName');
    if (grant.name !== 'Grant' || id !== ownerId || others) throw notSupported('A grant to anybody but the owner');
  }
}
