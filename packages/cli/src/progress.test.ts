import { expect, test } from 'vitest';
import { createSpeed, type Standing, toBars, toLine } from './progress.ts';

const standing: Standing = {
  files: { done: 2, total: 407 },
  bytes: { done: 950_000_000, total: 1_900_000_000 },
  current: [
    { name: '写真 🎉 '.repeat(20), done: 0, total: 100 },
    { name: 'evil\u001b[2J.txt', done: 0, total: 0 },
    { name: 'fourth.txt', done: 0, total: 0 },
    { name: 'film.mp4', done: 999, total: 1000 },
  ],
};

test('bars show the three largest files, all of them, speed and time left, on lines that fit', () => {
  const lines = toBars('Uploading', standing, 20_000_000, 80);
  expect(lines).toEqual([
    '  ███████████████████▉  99%  film.mp4',
    expect.stringMatching(/^ {2}░{20} {3}0% {2}(?:写真 🎉 )+.*…$/u),
    '  ████████████████████ 100%  evil\\x1b[2J.txt',
    '  ██████████░░░░░░░░░░  50%  Uploading: 2 of 407 files',
    '                             950 MB of 1.90 GB, 20.0 MB/s, 48 s left',
  ]);
});

test('a line says the same, and no guess that is worth nothing', () => {
  expect(toLine('Uploading', standing, 20_000_000)).toBe(
    'Uploading: 2 of 407 files, 950 MB of 1.90 GB, 20.0 MB/s, 48 s left',
  );
  expect(toLine('Uploading', standing, 100)).toBe('Uploading: 2 of 407 files, 950 MB of 1.90 GB, 100 B/s');
  expect(toLine('Uploading', standing, 0)).toBe('Uploading: 2 of 407 files, 950 MB of 1.90 GB, 0 B/s');
});

test('the speed is that of the last seconds', () => {
  const speed = createSpeed();
  expect([speed(0, 0), speed(500, 500), speed(1000, 1000)]).toEqual([undefined, undefined, 1000]);
  for (let second = 2; second <= 30; second++) speed(1000, second * 1000);
  expect(speed(1000, 31_000)).toBe(0);
});
