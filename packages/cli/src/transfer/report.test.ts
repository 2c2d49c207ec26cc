import { CadizError } from '@cadiz/client';
import { expect, test } from 'vitest';
import { failIfAny, newReport, noteFailure } from './report.ts';

const refused = new CadizError('invalid_api_key', 'The API key is not accepted.', { status: 401 });

test('that the credentials are refused is said once, and is no failure of the files', () => {
  const report = newReport();
  const said: string[] = [];
  for (const error of [new Error('damaged'), refused, refused, new Error('gone'), refused])
    noteFailure(report, 'a.txt', error, (message) => said.push(message));
  expect(said).toEqual(['damaged', 'The API key is not accepted.', 'gone']);
  expect(report.failed).toHaveLength(5);
  expect(() => failIfAny(report)).toThrow(expect.objectContaining({ exitCode: 4 }));
});

test('files that have failed are 5, and none is fine', () => {
  const report = newReport();
  failIfAny(report);
  noteFailure(report, 'a.txt', new Error('damaged'), () => undefined);
  expect(() => failIfAny(report)).toThrow(expect.objectContaining({ exitCode: 5 }));
});

test('what a dry run would transfer counts among the files of which some would fail', () => {
  const report = { ...newReport(), unchanged: 1 };
  noteFailure(report, 'a.txt', new Error('damaged'), () => undefined);
  expect(() => failIfAny(report, 2)).toThrow('1 of 4 files would fail.');
  expect(() => failIfAny(report)).toThrow('1 of 2 files failed.');
});
