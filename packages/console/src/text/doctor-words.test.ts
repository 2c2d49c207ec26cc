import { expect, test } from 'vitest';
import { toSections } from '../../../server/src/checkup/checks.ts';
import { toLeft, toStopped } from '../../../server/src/features/system/own-findings.ts';
import { doctor } from './doctor-de.ts';

/** Every check that there is, whatever the settings call for. */
const sections = toSections({
  origins: ['https://app.example.com'],
  publicUrl: 'https://cadiz.example.com',
  config: { linksStream: false },
});
const own = [toStopped(60), toLeft({ prefix: 'cadiz-doctor/' })];

test('every check of the doctor, and every section of its report, has German words, and no other has', () => {
  const ids = [...sections.flatMap(({ checks }) => checks), ...own].map(({ id }) => id.split(' ')[0] ?? '');
  expect(Object.keys(doctor.checks).sort()).toEqual([...new Set(ids)].sort());
  const titles = [...sections.map(({ title }) => title), ...own.map(({ section }) => section)];
  expect(Object.keys(doctor.sections).sort()).toEqual([...new Set(titles)].sort());
});
