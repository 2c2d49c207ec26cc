import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import {
  cleanUp,
  freePorts,
  type Service,
  type Settings,
  startService,
  stopService,
  testedSettings,
} from '../service.ts';
import { hasPrograms, isAsked } from './programs.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const prometheus = join(root, 'deploy/prometheus');
const hasPromtool = hasPrograms('the rules of Prometheus', { promtool: '--version' });

interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  annotations?: Record<'summary' | 'description' | 'runbook', string>;
}
const { groups } = parse(readFileSync(join(prometheus, 'alerts.yml'), 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);

interface Panel {
  id: number;
  title: string;
  targets?: { expr: string }[];
}
const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana/cadiz.json'), 'utf8')) as {
  panels: Panel[];
  templating: { list: { name: string; type: string }[] };
};
const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** What Grafana puts in the place of its variables. */
const filled = (expr: string) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*');

const runbooks = join(root, 'docs/runbooks');

test('each alert has a runbook, and each runbook an alert', () => {
  const named = alerts.map(({ annotations }) => annotations?.runbook ?? '');
  for (const path of named) expect([path, existsSync(join(root, path))]).toEqual([path, true]);
  expect(readdirSync(runbooks).sort()).toEqual([...new Set(named.map((path) => basename(path)))].sort());
});

test('each panel of the dashboard has an id of its own, and takes the data source that is chosen', () => {
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(dashboard.templating.list).toContainEqual(expect.objectContaining({ name: 'datasource', type: 'datasource' }));
  for (const uid of JSON.stringify(dashboard).match(/"uid":"[^"]*"/g) ?? [])
    expect([`"uid":"\${datasource}"`, '"uid":"cadiz"']).toContain(uid);
});

describe.runIf(hasPromtool)('promtool', () => {
  test('accepts the rules and the example of a configuration', async () => {
    await run('promtool', ['check', 'rules', '--lint-fatal', join(prometheus, 'alerts.yml')]);
    await run('promtool', ['check', 'config', join(prometheus, 'prometheus.yml')]);
  });

  test.runIf(isAsked)('sees each alert fire, and stay silent', async () => {
    const { stdout } = await run('promtool', ['test', 'rules', join(prometheus, 'alerts.test.yml')]);
    expect(stdout).toContain('SUCCESS');
    const { tests } = parse(readFileSync(join(prometheus, 'alerts.test.yml'), 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
    };
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert } of alerts) {
      const of = cases.filter(({ alertname }) => alertname === alert).map(({ exp_alerts }) => exp_alerts?.length ?? 0);
      expect([alert, of.includes(0), of.some((count) => count > 0)]).toEqual([alert, true, true]);
    }
  });
});

describe('a scrape', () => {
  let settings: Settings = {};
  let service: Service;
  let scraped: string;
  beforeAll(async () => {
    settings = { ...(await testedSettings()), METRICS_PORT: String((await freePorts(1))[0]) };
    service = await startService(settings);
    scraped = await (await fetch(`http://127.0.0.1:${settings.METRICS_PORT}/metrics`)).text();
  });
  afterAll(async () => {
    if (service) await stopService(service);
    await cleanUp(settings);
  });

  test('has every metric that the rules and the dashboard name', () => {
    const metrics = new Set([...scraped.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const named = [...rules.map(({ expr }) => expr), ...shown.map(filled)].flatMap(
      (expr) => expr.match(/\b(?:cadiz|nodejs|process)_\w+/g) ?? [],
    );
    const unknown = named
      .map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
      .filter((name) => !metrics.has(name));
    expect([...new Set(unknown)]).toEqual([]);
    expect(named.length).toBeGreaterThan(60);
  });

  test('has every metric that docs/operations.md names, and no other', () => {
    const documented = readFileSync(join(root, 'docs/operations.md'), 'utf8').matchAll(/^\| (`cadiz_[^|]*) \|/gm);
    const names = [...documented].flatMap(([, cell = '']) => cell.match(/cadiz_\w+/g) ?? []);
    const scrapedNames = [...scraped.matchAll(/^# TYPE (cadiz_\S+)/gm)].map(([, name]) => name);
    expect(names.sort()).toEqual(scrapedNames.sort());
  });

  test.runIf(hasPromtool)('leaves promtool nothing to complain of', async () => {
    const check = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    check.stdout.on('data', (text) => (said += text));
    check.stderr.on('data', (text) => (said += text));
    const ended = new Promise((resolve) => check.once('close', resolve));
    check.stdin.end(scraped);
    expect([await ended, said]).toEqual([0, '']);
  });
});

test.runIf(hasPromtool)('each expression of the dashboard is one of Prometheus', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-dashboard-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const records = shown.map((expr, place) => ({ record: `shown:${place}`, expr: filled(expr) }));
  await writeFile(join(folder, 'shown.yml'), stringify({ groups: [{ name: 'shown', rules: records }] }));
  await run('promtool', ['check', 'rules', join(folder, 'shown.yml')]);
});
