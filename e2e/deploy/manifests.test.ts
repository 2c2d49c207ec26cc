import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { routes } from '@cadiz/contract';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { settings } from '../../packages/server/src/settings/table.ts';
import { hasPrograms } from './programs.ts';

const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));
const base = join(deploy, 'kustomize/base');

// biome-ignore lint/suspicious/noExplicitAny: a file of YAML is whatever it contains
type Yaml = any;

/** The only document of a file. */
function read(path: string): Yaml {
  const documents = parseAllDocuments(readFileSync(path, 'utf8'));
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(documents).toHaveLength(1);
  return documents[0]?.toJS();
}

const defaultOf = (name: keyof typeof settings) => Number((settings[name] as { default?: string }).default);
/** What a stop takes at most; the delay has no default of its own in the table. */
const drainSeconds = 7 + defaultOf('DRAIN_SECONDS');
const user = 65532;

test('deploy/compose.yaml uses settings, ports and paths of the service, and lets it finish', () => {
  const { services, volumes } = read(join(deploy, 'compose.yaml'));
  const { cadiz, postgres } = services;
  expectSettings(Object.keys(cadiz.environment));
  const decided = ['PORT', 'HOST', 'CADIZ_DATA_DIR', 'STORE_PORT', 'DATABASE_DIRECT_URL', 'DATABASE_POOLER_PREPARES'];
  const others = Object.keys(settings).filter((name) => !decided.includes(name));
  expect(others.filter((name) => !(name in cadiz.environment))).toEqual([]);
  expect(cadiz.ports).toEqual([defaultOf('PORT'), defaultOf('STORE_PORT')].map((port) => `127.0.0.1:${port}:${port}`));
  expectPath(cadiz.healthcheck.test.at(-1), `http://127.0.0.1:${defaultOf('PORT')}`);
  expect(Number.parseInt(cadiz.stop_grace_period, 10)).toBeGreaterThan(drainSeconds);
  expect(cadiz).toMatchObject({ user: `${user}:${user}`, read_only: true, cap_drop: ['ALL'] });
  expect(cadiz.environment.DATABASE_URL).toContain(`@postgres:5432/${postgres.environment.POSTGRES_DB}`);
  // Without a host, it would be a socket, at which the image's PostgreSQL answers before others can reach it.
  expect(postgres.healthcheck.test.slice(0, 4)).toEqual(['CMD', 'pg_isready', '-h', '127.0.0.1']);
  const mounted = [cadiz, postgres].flatMap((service) => service.volumes.map((each: string) => each.split(':')[0]));
  expect(mounted).toEqual(Object.keys(volumes));
});

test('deploy/kustomize/base uses settings, ports and paths of the service, and lets it finish', () => {
  const kustomization = read(join(base, 'kustomization.yaml'));
  const files = readdirSync(base).filter((name) => name !== 'kustomization.yaml');
  expect([...kustomization.resources].sort()).toEqual(files.sort());
  const byKind = new Map(files.map((file) => read(join(base, file))).map((each: Yaml) => [each.kind, each]));
  const pod = byKind.get('Deployment').spec.template;
  const [container] = pod.spec.containers;

  const literals: string[] = kustomization.configMapGenerator[0].literals;
  const set = Object.fromEntries(literals.map((each) => each.split('=')));
  const names = [...Object.keys(set), ...container.env.map(({ name }: Yaml) => name)];
  expectSettings(names);
  // Only whoever runs the cluster knows the addresses of its ingress: any other pod could forge those of clients.
  expect(names).not.toContain('TRUSTED_PROXIES');
  // Pods keep nothing, so everything that would be in a data folder has to be set.
  expect(names).toEqual(expect.arrayContaining(['DATABASE_URL', 'S3_ENDPOINT', 'S3_BUCKET', 'CADIZ_SECRET']));

  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }: Yaml) => [name, containerPort]));
  expect(ports).toEqual({ http: defaultOf('PORT'), metrics: Number(set.METRICS_PORT) });
  expect(pod.metadata.annotations['prometheus.io/port']).toBe(set.METRICS_PORT);
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    const { path, port } = container[probe].httpGet;
    expectPath(path, '');
    expect(port).toBe('http');
  }
  expect(container.readinessProbe.httpGet.path).toBe('/readyz');
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  expect(periodSeconds * failureThreshold).toBeLessThan(7);
  const preStopSeconds = Number(/(\d+)\)$/.exec(container.lifecycle.preStop.exec.command.at(-1))?.[1]) / 1000;
  expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(preStopSeconds + drainSeconds);
  expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: user });
  expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });

  const labels = pod.metadata.labels;
  expect(byKind.get('Deployment').spec.selector.matchLabels).toEqual(labels);
  expect(byKind.get('Service').spec.selector).toEqual(labels);
  expect(byKind.get('Service').spec.ports[0].targetPort).toBe('http');
  expect(byKind.get('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
  const { kind, name } = byKind.get('HorizontalPodAutoscaler').spec.scaleTargetRef;
  expect(byKind.get(kind).metadata.name).toBe(name);
});

test('docs/deploy.md runs the command where the image has it', () => {
  const [, entry = ''] = /^ENTRYPOINT (.+)$/m.exec(readFileSync(join(deploy, 'container/Containerfile'), 'utf8')) ?? [];
  const documented = readFileSync(join(deploy, '../docs/deploy.md'), 'utf8').matchAll(
    / exec (?:-it )?cadiz (\S+) (\S+)/g,
  );
  const commands = [...documented].map(([, program, path]) => [`/opt/cadiz/bin/${program}`, path]);
  expect(commands).toEqual([JSON.parse(entry), JSON.parse(entry)]);
});

const canRender = hasPrograms('deploy/kustomize as kubectl renders it', { kubectl: 'version' });
test.runIf(canRender)('deploy/kustomize/base is rendered by kubectl', async () => {
  const { stdout } = await promisify(execFile)('kubectl', ['kustomize', base]);
  const documents: Yaml[] = parseAllDocuments(stdout).map((each) => each.toJS());
  const kinds = documents.map(({ kind }) => kind).sort();
  expect(kinds).toEqual(
    ['ConfigMap', 'Deployment', 'HorizontalPodAutoscaler', 'Namespace', 'PodDisruptionBudget', 'Service'].sort(),
  );
  const [container] = documents.find(({ kind }) => kind === 'Deployment').spec.template.spec.containers;
  const config = documents.find(({ kind }) => kind === 'ConfigMap');
  expect(container.envFrom[0].configMapRef.name).toBe(config.metadata.name);
});

test('the systemd unit uses settings of the service', () => {
  const unit = readFileSync(join(deploy, 'systemd/cadiz.service'), 'utf8');
  const names = [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, pairs = '']) => pairs.split(' '));
  expectSettings(names.map((pair) => pair.split('=')[0] ?? '').filter((name) => name !== 'TMPDIR'));
});

function expectSettings(names: string[]): void {
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !(name in settings))).toEqual([]);
}

/** Expects a text to contain a path that the contract has, after `before`. */
function expectPath(text: string, before: string): void {
  const paths = Object.values(routes).map(({ path }) => path as string);
  const path = text.slice(text.indexOf(before) + before.length).match(/^\/\w+/)?.[0];
  expect(paths).toContain(path);
}
