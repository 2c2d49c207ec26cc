import { exitCodes, Failure, notCadiz, toReason } from './failure.ts';

export interface SignIn {
  url: string;
  email: string;
  password: string;
  /** Asks for the code of the second factor, or a backup code. */
  askCode(): Promise<string>;
}

/**
 * Signs in as a browser does.
 *
 * @returns the cookie of the session, as a browser sends it
 * @throws Failure
 */
export async function signIn({ url, email, password, askCode }: SignIn): Promise<string> {
  const first = await post(url, 'sign-in/email', { email, password });
  if (!first.answer.twoFactorRedirect) return sessionOf(url, first.cookies);
  const code = await askCode();
  const route = /^\d{6}$/.test(code) ? 'two-factor/verify-totp' : 'two-factor/verify-backup-code';
  return sessionOf(url, (await post(url, route, { code }, first.cookies)).cookies);
}

interface Answer {
  twoFactorRedirect?: boolean;
  /** The fields of a problem document that are used here. */
  code?: string;
  title?: string;
  detail?: string;
}

interface Answered {
  answer: Answer;
  /** `name=value` of each cookie. */
  cookies: string[];
}

async function post(url: string, route: string, body: object, cookies: readonly string[] = []): Promise<Answered> {
  const headers = { 'content-type': 'application/json', ...(cookies.length > 0 && { cookie: cookies.join('; ') }) };
  const response = await fetch(`${url}/api/auth/${route}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  }).catch((error: Error) => {
    throw new Failure(exitCodes.failed, `${url} cannot be reached: ${toReason(error)}`);
  });
  const answer = readAnswer(await response.text());
  if (!response.ok && answer?.code)
    throw new Failure(
      response.status === 401 ? exitCodes.signIn : exitCodes.failed,
      answer.detail ?? answer.title ?? answer.code,
    );
  if (!response.ok || !answer) throw notCadiz(url, `${response.status}`);
  return { answer, cookies: response.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '') };
}

/** Undefined: no answer of the service. */
function readAnswer(text: string): Answer | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

function sessionOf(url: string, cookies: readonly string[]): string {
  const session = cookies.find((cookie) => /^(?:__Host-)?cadiz\.session_token=./.test(cookie));
  if (!session) throw notCadiz(url, 'without starting a session');
  return session;
}
