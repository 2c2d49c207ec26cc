import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreFolderUnwritable } from '@cadiz/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseFolderUnwritable } from '../db/database-errors.ts';
import { toSentence } from '../start/start-error.ts';
import { given, makeFolder, toFolderSentence } from './data-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadiz-test-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('makeFolder', () => {
  test('makes folders for their owner only, and takes one that is there as it is', () => {
    const path = join(folder, 'a/b/c');
    makeFolder(path);
    makeFolder(path);
    expect(['a', 'a/b', 'a/b/c'].map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([
      0o700, 0o700, 0o700,
    ]);
  });

  test('says where it fails', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => makeFolder(join(folder, 'file'))).toThrow(/EEXIST/);
    symlinkSync('not-mounted', join(folder, 'link'));
    expect(() => makeFolder(join(folder, 'link'))).toThrow(/EEXIST/);
    expect(() => makeFolder(join(folder, 'file/b/c'))).toThrow(/ENOTDIR/);
    expect(() => makeFolder('/proc/cadiz/data')).toThrow(/ENOENT/);
  });
});

describe('what is told of a data folder that cannot be used', () => {
  const sentences: [string, RegExp][] = [
    ['ENOSPC', /^There is no space left on the disk of \/d \(ENOSPC\): free some, or set CADIZ_DATA_DIR/],
    ['EDQUOT', /^This user's disk quota is used up at \/d \(EDQUOT\): free some space, have the quota raised, or/],
    ['EROFS', /^The disk of \/d is mounted read-only \(EROFS\): mount it writable, or set CADIZ_DATA_DIR/],
    ['EIO', /^The disk of \/d has failed to read or write \(EIO\): /],
    ['EACCES', /^This user is not allowed to use \/d \(EACCES\): give the user permission to read and write it, or/],
    ['EPERM', /^This user is not allowed to use \/d \(EPERM\): /],
    ['ENOTDIR', /^A file is in the way of the folder \/d \(ENOTDIR\): set CADIZ_DATA_DIR/],
    ['ENAMETOOLONG', /^The path \/d is too long for this system \(ENAMETOOLONG\): set CADIZ_DATA_DIR/],
  ];

  test.each(sentences)('%s has a sentence of its own, wherever it is met', (code, sentence) => {
    const error = Object.assign(new Error('it failed'), { code, path: '/d' });
    for (const met of [error, new DatabaseFolderUnwritable('/d', error), new StoreFolderUnwritable('/d', code)]) {
      expect(toSentence(met)).toMatch(sentence);
      expect(toSentence(met)).toMatch(/\.$/);
    }
  });

  test.each(['EPERM', 'EOPNOTSUPP'])('a file system that has no links is not said to be about the user: %s', (code) => {
    const error = Object.assign(new Error('it failed'), { code, syscall: 'link', path: '/d/secrets.json.1' });
    expect(toSentence(error)).toBe(
      `The file system of /d has no hard links (${code}), like FAT and exFAT: set CADIZ_DATA_DIR to a folder on another disk.`,
    );
  });

  test('of a folder that a command was given, no setting is named', () => {
    const error = Object.assign(new Error('it failed'), { code: 'ENOSPC', syscall: 'write' });
    expect(toFolderSentence(error, '/b', given)).toBe(
      'There is no space left on the disk of /b (ENOSPC): free some, or name a folder on another disk.',
    );
  });

  test('no path is invented, and words count where there is no code', () => {
    expect(toSentence(Object.assign(new Error('ENOSPC: …, write'), { code: 'ENOSPC' }))).toMatch(
      / disk of the data folder /,
    );
    expect(toSentence(new Error('could not write to file "pg_wal/xlogtemp.1": No space left on device'))).toMatch(
      /ENOSPC/,
    );
    expect(toSentence(new Error('mdb_env_open: Disk quota exceeded'))).toMatch(/EDQUOT/);
    // So does rmSync from Node 24 on, where the code is empty.
    const removal = { code: '', errno: -4094, syscall: 'rm', path: '/d/secrets.json.1' };
    for (const [words, code] of [
      ['Read-only file system', /\(EROFS\)/],
      ['Input/output error', /\(EIO\)/],
    ] as const)
      expect(toSentence(Object.assign(new Error(`, Unknown error: ${words} '/d'`), removal))).toMatch(code);
  });
});
