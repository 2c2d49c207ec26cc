import type pg from 'pg';
import { expect } from 'vitest';
import { listingSettings } from '../src/db/listing-lane.ts';

/** A node of a plan that was run. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

/** Runs a statement of a listing as its connections do, and returns the nodes of its plan that did anything. */
export async function planOf(
  pool: pg.Pool,
  { name, text, values }: pg.QueryConfig,
  mode: 'custom' | 'generic',
): Promise<PlanNode[]> {
  // PostgreSQL confuses two statements whose names share that many first characters.
  expect(name?.length).toBeLessThan(64);
  const client = await pool.connect();
  try {
    for (const [name, value] of Object.entries(listingSettings)) await client.query(`set ${name} = '${value}'`);
    await client.query(`set plan_cache_mode = force_${mode}_plan`);
    await client.query(`prepare page as ${text}`);
    const literals = values?.map((value) =>
      typeof value === 'number' || value === null ? value : `'${String(value).replaceAll("'", "''")}'`,
    );
    const { rows } = await client.query(
      `explain (analyze, format json) execute page(${literals?.map((literal) => literal ?? 'null').join(', ')})`,
    );
    return flatten(rows[0]['QUERY PLAN'][0].Plan).filter((node) => node['Actual Loops'] > 0);
  } finally {
    await client.query('deallocate page; reset all');
    client.release();
  }
}

/** How many rows a node has handled each time that it ran. */
export function countHandled(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return node['Actual Rows'] + removed;
}
