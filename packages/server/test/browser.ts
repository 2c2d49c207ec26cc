import type { Answer, CallOptions, TestService } from './service.ts';

/** Makes calls with a cookie jar, like a browser. */
export interface TestBrowser {
  cookies: Map<string, string>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export function openBrowser(service: Pick<TestService, 'call'>): TestBrowser {
  const cookies = new Map<string, string>();
  return {
    cookies,
    async call(method, path, options = {}) {
      const Cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
      const headers = { ...(Cookie ? { Cookie } : {}), ...options.headers };
      const answer = await service.call(method, path, { ...options, headers });
      for (const line of answer.headers.getSetCookie()) {
        const [pair = '', ...attributes] = line.split('; ');
        const name = pair.slice(0, pair.indexOf('='));
        if (attributes.includes('Max-Age=0')) cookies.delete(name);
        else cookies.set(name, pair.slice(name.length + 1));
      }
      return answer;
    },
  };
}
