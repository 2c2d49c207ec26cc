import type { ImageMaker } from '@cadiz/images';
import type { Attributes } from '@opentelemetry/api';
import type { Deps } from '../deps.ts';
import type { OpenTrace, Trace } from './trace.ts';

/**
 * `Deps` with a trace, as prototypes of those of each request: making an object with all fields would cost every request
 * with a trace.
 */
const prototypes = new WeakMap<Deps, object>();

/**
 * What a request or job may use, so that what it does belongs to its trace: its lines in the log have the trace's id, and
 * its requests to the store carry it. If the trace is recorded, statements, requests to the store and images are spans.
 */
export function withinTrace(deps: Deps, trace: Trace): Deps {
  let prototype = prototypes.get(deps);
  if (!prototype) {
    prototype = createPrototype(deps);
    prototypes.set(deps, prototype);
  }
  const own = Object.create(prototype) as Traced;
  own.trace = trace;
  own.made = { log: undefined, objects: undefined, db: undefined, inserts: undefined, images: undefined };
  return own;
}

/** What is made for a trace, as soon as somebody asks for it: most requests need little of it. */
type Made = { [K in 'log' | 'objects' | 'db' | 'inserts' | 'images']: Deps[K] | undefined };
type Traced = Deps & { trace: Trace; made: Made };

function createPrototype(deps: Deps): object {
  const make: { [K in keyof Made]: (trace: Trace) => Deps[K] } = {
    log: ({ traceId }) => deps.log.child({ traceId }),
    objects: (trace) => deps.objects.within(trace),
    db: (trace) => (trace.isRecorded ? deps.db.within(trace) : deps.db),
    inserts: (trace) => (projectId, files) =>
      trace.run('insert files together', { 'cadiz.files': files.length }, 'internal', () =>
        deps.inserts(projectId, files),
      ),
    images: (trace) => deps.images && traceImages(deps.images, trace),
  };
  const prototype = Object.create(deps);
  for (const name of Object.keys(make) as (keyof Made)[]) defineMade(prototype, name, make[name]);
  return prototype;
}

function defineMade<K extends keyof Made>(prototype: object, name: K, make: (trace: Trace) => Deps[K]): void {
  Object.defineProperty(prototype, name, {
    get(this: { trace: Trace; made: { [N in K]: Deps[N] | undefined } }) {
      this.made[name] ??= make(this.trace);
      return this.made[name];
    },
  });
}

function traceImages(images: ImageMaker, trace: Trace): ImageMaker {
  return Object.assign(Object.create(images), {
    look: (...args: Parameters<ImageMaker['look']>) =>
      trace.run('image look', {}, 'internal', () => images.look(...args)),
    render: (...args: Parameters<ImageMaker['render']>) =>
      trace.run('image render', {}, 'internal', () => images.render(...args)),
  });
}

/** Does some of the service's own work, such as a job, in a trace of its own if one is to be recorded. */
export async function inOwnTrace<T>(
  deps: Deps,
  name: string,
  attributes: Attributes,
  work: (deps: Deps) => Promise<T>,
): Promise<T> {
  const trace = deps.tracing.ofOwnWork(name, attributes);
  if (!trace) return work(deps);
  return endWith(trace, () => work(withinTrace(deps, trace)));
}

async function endWith<T>(trace: OpenTrace, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    trace.end();
    return result;
  } catch (error) {
    trace.end(error);
    throw error;
  }
}
