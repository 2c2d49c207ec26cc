import { createHmac } from 'node:crypto';
import { sameText } from '../access/same-text.ts';
import { idleSeconds } from '../access/session-lifetime.ts';
import type { Deps } from '../deps.ts';
import type { Kept, KeptChanges } from '../identity/browser.ts';
import type { Exchange } from './exchange.ts';

type CookieDeps = Pick<Deps, 'config' | 'secret'>;

interface Cookie {
  name: string;
  /** How long the browser keeps it. */
  seconds: number;
  /** Whether we sign it. The other cookies carry their own proof. */
  isSigned: boolean;
}

const cookies: Record<keyof Kept, Cookie> = {
  session: { name: 'session_token', seconds: idleSeconds, isSigned: true },
  challenge: { name: 'two_factor', seconds: 600, isSigned: true },
  question: { name: 'passkey', seconds: 300, isSigned: true },
  flow: { name: 'oidc', seconds: 600, isSigned: false },
  device: { name: 'device', seconds: 180 * 24 * 3600, isSigned: false },
};

/** Over HTTPS, browsers accept `__Host-` cookies only with Secure, and from no other host of the domain. */
function nameOf({ config }: CookieDeps, { name }: Cookie): string {
  return `${config.publicUrl.startsWith('https:') ? '__Host-' : ''}cadiz.${name}`;
}

/** The value of a cookie of this request, if its signature is valid. */
export function readCookie(deps: CookieDeps, exchange: Exchange, name: keyof Kept): string | undefined {
  const header = exchange.headers.cookie;
  if (header === undefined) return undefined;
  const cookie = cookies[name];
  const text = findPair(header, nameOf(deps, cookie));
  return text === undefined || !cookie.isSigned ? text : withoutSignature(deps, text);
}

/** `Set-Cookie` headers as name, value, name, value …, for what the browser is to keep from now on. */
export function toCookieHeaders(deps: CookieDeps, changes: KeptChanges): string[] {
  const names = Object.keys(cookies) as (keyof Kept)[];
  return names.flatMap((name) => {
    const value = changes[name];
    return value === undefined ? [] : ['Set-Cookie', toCookie(deps, cookies[name], value)];
  });
}

function toCookie(deps: CookieDeps, cookie: Cookie, value: string | null): string {
  const text = value !== null && cookie.isSigned ? `${value}.${sign(deps, value)}` : (value ?? '');
  const pair = `${nameOf(deps, cookie)}=${encodeURIComponent(text)}`;
  const isSecure = deps.config.publicUrl.startsWith('https:');
  const attributes = ['Path=/', 'HttpOnly', ...(isSecure ? ['Secure'] : []), 'SameSite=Lax'];
  return [pair, `Max-Age=${value === null ? 0 : cookie.seconds}`, ...attributes].join('; ');
}

/** RFC 6265 §5.4: if two cookies have the same name, the first one counts. */
function findPair(header: string, name: string): string | undefined {
  const pair = header.split(';').find((one) => one.trimStart().startsWith(`${name}=`));
  const text = pair?.slice(pair.indexOf('=') + 1).trim();
  try {
    return text === undefined || text === '' ? undefined : decodeURIComponent(text);
  } catch {
    // Not one of ours.
    return undefined;
  }
}

function withoutSignature(deps: CookieDeps, text: string): string | undefined {
  const dot = text.lastIndexOf('.');
  const value = text.slice(0, Math.max(0, dot));
  return value !== '' && sameText(text.slice(dot + 1), sign(deps, value)) ? value : undefined;
}

/** HMAC-SHA-256 in base64. */
function sign({ secret }: CookieDeps, value: string): string {
  return createHmac('sha256', secret).update(value).digest('base64');
}
