import { type OperationId, type Route, routes } from '@cadiz/contract';

export interface Match {
  operation: OperationId;
  params: Record<string, string>;
  /** The size limit of the body, if the route sets its own. */
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

/** Finds the route of the contract for a request. HEAD is answered like GET. */
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

/** The operations at a path, of any method. */
export function findOperations(path: string): OperationId[] {
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ operation }) => operation);
}

/** The methods that a path accepts; empty if there is nothing at it. */
export function findMethods(path: string): string[] {
  const methods: string[] = findOperations(path).map((operation) => routes[operation].method);
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}

function decodeAll(groups: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decode(value)]));
}

/** Text with invalid percent-encoding is left as it is: no id looks like that, so the check of the id reports it. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
