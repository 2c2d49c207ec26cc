import type { Section } from './check.ts';
import { bucket, clock, credentials, pathStyle, region, wrongSecret } from './checks/access.ts';
import {
  acl,
  anonymous,
  anonymousCached,
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
import { imagesRead } from './checks/images.ts';
import { downloadCache, linkGet, linkHead, linkOldest, linksArrive, linksCache } from './checks/links.ts';
import { addressFits, clientsReach, isLoopback, serviceReaches } from './checks/reach.ts';
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
import type { ExaminationOptions } from './examination.ts';

/** All checks that the settings call for, in order. */
export function toSections({
  origins,
  config,
  publicUrl,
}: Pick<ExaminationOptions, 'origins' | 'publicUrl'> & { config: { linksStream: boolean } }): Section[] {
  const ofRedirects = config.linksStream ? [] : [linkGet, linkHead, linkOldest];
  // Nothing is between a service on loopback and its clients.
  const ofPublic = isLoopback(new URL(publicUrl)) ? [] : [linksArrive];
  return [
    { title: 'Reach', checks: [serviceReaches, clientsReach, addressFits] },
    { title: 'Access', checks: [clock, region, credentials, wrongSecret, bucket, pathStyle] },
    {
      title: 'What the service does',
      checks: [writeReadRemove, absentIs404, listOrder, removeMany, listUploads, versioning, lifecycle],
    },
    {
      title: 'What clients do',
      checks: [presignedPut, presignedGet, downloadCache, wrongLength, bothFramings, twice, multipart],
    },
    { title: 'Links', checks: [...ofRedirects, linksCache, ...ofPublic] },
    { title: 'Images', checks: [imagesRead] },
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
        anonymousCached,
        writeOnlyKey,
      ],
    },
  ];
}
