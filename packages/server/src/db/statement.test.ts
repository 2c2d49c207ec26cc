import { expect, test } from 'vitest';
import { toStatement } from './statement.ts';

test('a parameter is sent once however often it occurs, and casts and strings stay unchanged', () => {
  const sql = "select :id::uuid, :name from files where id = :id and at = 'HH24:MI'";
  expect(toStatement('find', sql, { name: 'a', id: 'b', other: 1 })).toEqual({
    name: expect.stringMatching(/^find-[\w-]{24}$/),
    text: "select $1::uuid, $2 from files where id = $1 and at = 'HH24:MI'",
    values: ['b', 'a'],
  });
});

test('the same text has the same name, and a different text a different one', () => {
  const nameOf = (sql: string) => toStatement('find', sql, { a: 1 }).name;
  expect(nameOf('select :a')).toBe(nameOf('select :a'));
  expect(nameOf('select :a')).not.toBe(nameOf('select :a limit 1'));
});

test('a parameter without a value is refused at once', () => {
  expect(() => toStatement('find', 'select :id', {})).toThrow('no value for :id');
});
