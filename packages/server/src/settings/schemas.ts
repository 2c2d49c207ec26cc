import { BlockList, isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { isLoopback } from './loopback.ts';
import { quotes } from './setting.ts';

export const text = () => quotes(z.string());

/** Not quotable, since it is meant for secrets. */
export const longText = (minLength: number) =>
  z.string().min(minLength, { error: `must be at least ${minLength} characters` });

export const wholeNumber = (min: number, max: number) =>
  quotes(
    z
      .string()
      .refine((digits) => /^\d{1,16}$/.test(digits) && Number(digits) >= min && Number(digits) <= max, {
        error: `must be a whole number from ${min} to ${max}`,
      })
      .transform(Number),
  );

/** A share such as `0.01`. */
export const ratio = () =>
  quotes(
    z
      .string()
      .refine((digits) => /^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(digits), {
        error: 'must be from 0 to 1, such as 0.01',
      })
      .transform(Number),
  );

export const port = () => wholeNumber(1, 65_535);

export const oneOf = <const T extends string>(...choices: readonly [T, ...T[]]) => {
  const listed = new Intl.ListFormat('en', { type: 'disjunction' }).format(choices);
  return quotes(z.enum(choices, { error: `must be ${listed}` }));
};

/** `true` for `on`. */
export const onOrOff = () => quotes(oneOf('on', 'off').transform((value) => value === 'on'));

/** An absolute path. */
export const folder = () => quotes(z.string().transform((path) => resolve(path)));

const malformedUrl =
  'must be a well-formed URL: its port is at most 65535, and in a password # is written as %23, / as %2F and ? as %3F';

/** Not quotable, since the URL may contain a password. */
export const urlOf = (...protocols: string[]) => {
  const starts = protocols.map((protocol) => `${protocol}//`);
  return z.string().refine((url) => URL.canParse(url) && protocols.includes(new URL(url).protocol), {
    error: ({ input }) =>
      starts.some((start) => String(input).startsWith(start)) && !URL.canParse(String(input))
        ? malformedUrl
        : `must be a URL that starts with ${starts.join(' or ')}`,
  });
};

/**
 * A database: the driver knows only one host, and would look for one with a comma in its name. It treats these modes of TLS
 * as `verify-full`, too, but with a warning of its own before anything else is said.
 */
export const postgresUrl = () =>
  z
    .string()
    .refine((url) => !/^[^:]+:\/\/(?:[^/?#]*@)?[^/?#@]*,/.test(url), {
      error:
        'must be a URL with one host: if a standby takes over, one that leads to the primary, as docs/operations.md shows',
      abort: true,
    })
    .pipe(urlOf('postgres:', 'postgresql:'))
    .transform((url) =>
      /[?&]uselibpqcompat=true(?:&|$)/.test(url)
        ? url
        : url.replace(/(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, 'verify-full'),
    );

/**
 * The URL as browsers normalize it, without a trailing slash: `HTTPS://Example.com:443/` becomes `https://example.com`. Paths are
 * appended to it, and it is shown to people, so it must not contain a password.
 */
export const httpUrl = () =>
  quotes(
    urlOf('http:', 'https:')
      .transform((url) => new URL(url))
      .refine(hasNoCredentials, { error: 'must be a URL without user name and password' })
      .refine(({ href }) => !/[?#]/.test(href), { error: 'must be a URL without ? and #' })
      .transform(({ href }) => href.replace(/\/$/, '')),
  );

function hasNoCredentials({ username, password }: URL): boolean {
  return username === '' && password === '';
}

/** IP addresses and networks, such as `10.0.0.0/8, 127.0.0.1, fd00::/8`. */
export const networks = () =>
  quotes(
    z.string().transform((list, context) => {
      const found = new BlockList();
      for (const entry of list.split(',').map((part) => part.trim())) {
        const [, network = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
        const family = isIP(network);
        const longest = family === 4 ? 32 : 128;
        const prefix = bits === undefined ? longest : Number(bits);
        if (family === 0 || prefix > longest) {
          context.addIssue('must be IP addresses and networks such as 10.0.0.0/8, separated by commas');
          return z.NEVER;
        }
        found.addSubnet(network, prefix, family === 4 ? 'ipv4' : 'ipv6');
      }
      return found;
    }),
  );

/** Kept exactly as written: an issuer is compared as a string (OpenID Connect Discovery 1.0 §4.3). */
export const issuer = () =>
  quotes(
    z.string().refine(
      (text) => {
        if (!URL.canParse(text)) return false;
        const url = new URL(text);
        if (url.search || url.hash || !hasNoCredentials(url)) return false;
        return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
      },
      { error: 'must be a URL that starts with https://, or with http:// on loopback, and has no user name, ? or #' },
    ),
  );

/** The scopes to request from an issuer; `openid` is always one of them. */
export const scopes = () =>
  quotes(
    z
      .string()
      .transform((list) => [...new Set(['openid', ...list.split(/\s+/).filter(Boolean)])])
      .refine((list) => list.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)), {
        error: 'must be scopes separated by spaces',
      }),
  );

const domain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/** `closed`, `open`, or a list of domains in lower case. */
export const closedOpenOrDomains = () =>
  quotes(
    z
      .string()
      .transform((value) => value.toLowerCase().trim())
      .transform((value) => (value === 'open' || value === 'closed' ? value : value.split(/\s*,\s*/)))
      .refine((value) => typeof value === 'string' || value.every((part) => domain.test(part)), {
        error: 'must be closed, open, or domains such as example.com, separated by commas',
      }),
  );
