import { dictionary } from '@zxcvbn-ts/language-common';
import { describe, expect, test } from 'vitest';
import { requireUncommonPassword } from './common-passwords.ts';

const about = ['Ada Lovelace', 'ada.lovelace@example.com'];

async function verdict(password: string): Promise<string> {
  return requireUncommonPassword(password, about).then(
    () => 'taken',
    (error: { code: string }) => error.code,
  );
}

describe('passwords that are guessed first are refused (checklist 12)', () => {
  test('the 3000 commonest, brought to length with digits, with signs, or said twice', async () => {
    const [sample, taken] = [dictionary['passwords-common'].slice(0, 3000), [] as string[]];
    for (const common of sample) {
      const fillers = ['1234567', '!!!!!!!', '2026!'].map((filler) => common + filler);
      for (const password of [common, ...fillers, common.toUpperCase() + common.toUpperCase()]) {
        if (password.length >= 12 && (await verdict(password)) === 'taken') taken.push(password);
      }
    }
    expect(taken).toEqual([]);
  });

  test.each([
    'Password1234',
    'P@ssw0rd2026',
    '123password!',
    '1q2w3e4r5t6y',
    '!!!Qwertyuiop!!!',
    'ＰＡＳＳＷＯＲＤ１２３４',
    'aaaaaaaaaaaa',
    'abcabcabcabc',
    'abcdefghijkl',
    '098765432109',
    '123456789012',
    'adalovelace1',
    'Ada Lovelace',
    'lovelace2026',
    'ada.lovelace@example.com',
    'cadiz1234567',
  ])('%s', async (password) => {
    expect(await verdict(password)).toBe('password_too_common');
  });

  test.each([
    'correct horse battery',
    'correct horse battery staple',
    'twelve chars',
    'nanoseconds are short',
    'パスワードはとても長いです🙂',
    'xK2#vq9!Lm4z',
    'xK2#vq9!Lm4zxK2#vq9!Lm4z',
    'password that only I would take',
    'dragon tea monkey',
  ])('but not %s', async (password) => {
    expect(await verdict(password)).toBe('taken');
  });
});
