import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { Options } from './spec.ts';

type Presets = Readonly<Record<string, Options>>;

/** The presets of a project, by their names. */
export async function findPresets({ db }: Pick<Deps, 'db'>, projectId: string): Promise<Presets> {
  const row = await db.kysely
    .selectFrom('projects')
    .select('image_presets')
    .where('id', '=', projectId)
    .executeTakeFirst();
  return row?.image_presets ?? {};
}

/**
 * The options themselves, or those of the preset that they name.
 * @param path of the options in the request, for the error
 * @throws Problem invalid_request if the project has no such preset
 */
export async function resolvePreset(
  deps: Pick<Deps, 'db'>,
  projectId: string,
  options: Options,
  path = 'preset',
): Promise<Options> {
  const { preset } = options;
  if (preset === undefined) return options;
  const presets = await findPresets(deps, projectId);
  if (Object.hasOwn(presets, preset)) return presets[preset] as Options;
  const names = Object.keys(presets);
  const message = `is not a preset of the project: it has ${names.length === 0 ? 'none' : names.join(', ')}`;
  throw new Problem('invalid_request', `${path} ${message}.`, { issues: [{ path, message }] });
}
