import { type OperationId, type Route, routes } from '@cadiz/contract';

export interface Match {
  operation: OperationId;
  params: Record<string, string>;
  /** How large the body may be, where the route says so itself. */
  maxBodyBytes?: number | undefined;
}

const entries = Object.entries(routes) as [OperationId, Route][];
const fixed = new Map<string, Match>();
const patterns: { operation: OperationId; method: string; pattern: RegExp; maxBodyBytes: number | undefined }[] = [];
for (const [operation, { method, path, maxBodyBytes }] of entries) {
  if (!path.includes('{')) fixed.set(`${method} ${path}`, { operation, params: {}, maxBodyBytes });
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
  patterns.push({ operation, method, pattern, maxBodyBytes });
}

/** The route of the contract that a request is for; HEAD is answered as GET is. */
export function findRoute(method: string, path: string): Match | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method;
  const exact = fixed.get(`${wanted} ${path}`);
  if (exact) return exact;
  for (const { operation, method: ofRoute, pattern, maxBodyBytes } of patterns) {
    const groups = ofRoute === wanted ? pattern.exec(path)?.groups : undefined;
    if (groups) return { operation, params: decodeAll(groups), maxBodyBytes };
  }
  return undefined;
}

/** What can be done at a path, by any method. */
export function findOperations(path: string): OperationId[] {
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ operation }) => operation);
}

/** The methods that a path takes; none when there is nothing at it. */
export function findMethods(path: string): string[] {
  const methods: string[] = findOperations(path).map((operation) => routes[operation].method);
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}

function decodeAll(groups: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decode(value)]));
}

/** Text that is not percent-encoded rightly stays as it is: no id looks like that, so its check says what is wrong. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
