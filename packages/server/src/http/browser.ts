import type { Deps } from '../deps.ts';
import type { Browser } from '../identity/browser.ts';
import { isLoopback } from '../settings/loopback.ts';
import { readCookie } from './cookies.ts';
import type { Exchange } from './exchange.ts';

/** How many characters of `User-Agent` a session keeps. */
const longestUserAgent = 300;

/** What a browser sends along in cookies and headers. */
export function readBrowser(deps: Deps, exchange: Exchange): Browser {
  return {
    kept: {
      session: readCookie(deps, exchange, 'session'),
      challenge: readCookie(deps, exchange, 'challenge'),
      question: readCookie(deps, exchange, 'question'),
      flow: readCookie(deps, exchange, 'flow'),
      device: readCookie(deps, exchange, 'device'),
    },
    userAgent: exchange.headers['user-agent']?.slice(0, longestUserAgent),
    invitation: exchange.headers['x-invitation'],
    setupToken: exchange.headers['x-setup-token'],
    isOnThisMachine: isOnThisMachine(exchange),
  };
}

const ofProxies = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Whether a request on a loopback listener really comes from this machine: through a proxy it may come from anywhere,
 * and under another host name it comes from a page whose domain was pointed here (DNS rebinding), which browsers treat
 * as the same origin.
 */
function isOnThisMachine(exchange: Exchange): boolean {
  if (ofProxies.some((name) => exchange.headers[name] !== undefined)) return false;
  const host = exchange.headers.host;
  return host === undefined || (URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname));
}
