import type { Section } from './check.ts';
import { bucket, clock, credentials, pathStyle, region, wrongSecret } from './checks/access.ts';
import {
  acl,
  anonymous,
  copySource,
  encryption,
  expired,
  metadata,
  partCopySource,
  partHeaders,
  signatureV2,
  tampered,
  writeOnlyKey,
} from './checks/attacks.ts';
import { browserChecks } from './checks/browsers.ts';
import { addressFits, clientsReach, serviceReaches } from './checks/reach.ts';
import {
  absentIs404,
  lifecycle,
  listOrder,
  listUploads,
  removeMany,
  versioning,
  writeReadRemove,
} from './checks/rights.ts';
import { bothFramings, multipart, presignedGet, presignedPut, twice, wrongLength } from './checks/uploads.ts';

/** All checks, in order. */
export function toSections(origins: readonly string[]): Section[] {
  return [
    { title: 'Reach', checks: [serviceReaches, clientsReach, addressFits] },
    { title: 'Access', checks: [clock, region, credentials, wrongSecret, bucket, pathStyle] },
    {
      title: 'What the service does',
      checks: [writeReadRemove, absentIs404, listOrder, removeMany, listUploads, versioning, lifecycle],
    },
    { title: 'What clients do', checks: [presignedPut, presignedGet, wrongLength, bothFramings, twice, multipart] },
    { title: 'Browsers', checks: origins.flatMap(browserChecks) },
    {
      title: 'What attackers try',
      checks: [
        copySource,
        partCopySource,
        acl,
        partHeaders,
        metadata,
        encryption,
        tampered,
        expired,
        signatureV2,
        anonymous,
        writeOnlyKey,
      ],
    },
  ];
}
