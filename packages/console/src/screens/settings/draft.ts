import type { Project } from '../../queries.ts';

/** Units of a limit, the largest first. */
const unitSizes = { TB: 1e12, GB: 1e9, MB: 1e6, KB: 1e3, B: 1 } as const;
export type Unit = keyof typeof unitSizes;
export const units: readonly Unit[] = ['TB', 'GB', 'MB', 'KB', 'B'];

/** A limit as it is typed; an empty amount is none. */
export interface Limit {
  amount: string;
  unit: Unit;
}

/** The settings of a project as the form holds them. */
export interface Draft {
  name: string;
  quota: Limit;
  largest: Limit;
  /** Media types, one a line. */
  types: string;
  mismatch: Project['contentMismatch'];
  presets: readonly DraftPreset[];
  stripLocation: Project['stripLocation'];
}

type Preset = Project['imagePresets'][string];

/** A preset of images as it is typed. */
export interface DraftPreset {
  /** Tells the rows of the form apart. */
  id: number;
  name: string;
  w: string;
  h: string;
  /** The options that have no field keep their values. */
  options: Omit<Preset, 'w' | 'h'>;
}

function toLimit(bytes: number | null): Limit {
  if (bytes === null) return { amount: '', unit: 'GB' };
  const unit = units.find((candidate) => bytes >= unitSizes[candidate] && bytes % unitSizes[candidate] === 0) ?? 'B';
  return { amount: String(bytes / unitSizes[unit]), unit };
}

/** @returns bytes; null where nothing is typed; NaN or infinite for what is no number */
export const bytesOf = ({ amount, unit }: Limit): number | null =>
  amount.trim() === '' ? null : Math.round(Number(amount.replace(',', '.')) * unitSizes[unit]);

/** Whether what is typed is a number, or nothing. JSON has no other numbers, and sends them as none. */
export const isLimit = (bytes: number | null): boolean => bytes === null || Number.isFinite(bytes);

const typesOf = (types: string): string[] | null => {
  const list = types.split(/[\s,]+/).filter((type) => type !== '');
  return list.length > 0 ? list : null;
};

/** The longest side of a preset that the service takes, in pixels. */
export const longestSide = 4096;

/** Whether what is typed is a side of a preset, or nothing. */
export const isSide = (side: string): boolean =>
  side.trim() === '' || (/^\s*\d+\s*$/.test(side) && Number(side) >= 1 && Number(side) <= longestSide);

const sideOf = (side: string) => (side.trim() === '' ? undefined : Number(side));

/** The presets that a draft describes, by their names. */
const presetsOf = (presets: readonly DraftPreset[]): Project['imagePresets'] =>
  Object.fromEntries(
    presets.map(({ name, w, h, options }) => {
      const [width, height] = [sideOf(w), sideOf(h)];
      return [
        name,
        { ...(width !== undefined && { w: width }), ...(height !== undefined && { h: height }), ...options },
      ];
    }),
  );

const toDraftPresets = (presets: Project['imagePresets']): DraftPreset[] =>
  Object.entries(presets).map(([name, { w, h, ...options }], id) => ({
    id,
    name,
    w: String(w ?? ''),
    h: String(h ?? ''),
    options,
  }));

export const toDraft = (project: Project): Draft => ({
  name: project.name,
  quota: toLimit(project.quotaBytes),
  largest: toLimit(project.maxFileSizeBytes),
  types: project.allowedMimeTypes?.join('\n') ?? '',
  mismatch: project.contentMismatch,
  presets: toDraftPresets(project.imagePresets),
  stripLocation: project.stripLocation,
});

/** The settings that can be changed here, with their bounds in bytes. */
export type Change = Partial<
  Pick<
    Project,
    | 'name'
    | 'quotaBytes'
    | 'maxFileSizeBytes'
    | 'allowedMimeTypes'
    | 'contentMismatch'
    | 'imagePresets'
    | 'stripLocation'
  >
>;

/** Compared as drafts, in which options have one order. */
const isChanged = (presets: readonly DraftPreset[], project: Project): boolean =>
  JSON.stringify(toDraftPresets(presetsOf(presets))) !== JSON.stringify(toDraftPresets(project.imagePresets));

/** What of a project a draft changes, and nothing else. */
export function changeOf(project: Project, draft: Draft): Change {
  const quotaBytes = bytesOf(draft.quota);
  const maxFileSizeBytes = bytesOf(draft.largest);
  const allowedMimeTypes = typesOf(draft.types);
  return {
    ...(draft.name !== project.name && { name: draft.name }),
    ...(quotaBytes !== project.quotaBytes && { quotaBytes }),
    ...(maxFileSizeBytes !== project.maxFileSizeBytes && { maxFileSizeBytes }),
    ...(String(allowedMimeTypes) !== String(project.allowedMimeTypes) && { allowedMimeTypes }),
    ...(draft.mismatch !== project.contentMismatch && { contentMismatch: draft.mismatch }),
    ...(isChanged(draft.presets, project) && { imagePresets: presetsOf(draft.presets) }),
    ...(draft.stripLocation !== project.stripLocation && { stripLocation: draft.stripLocation }),
  };
}

/** Where a draft holds each setting. */
const fields = {
  name: 'name',
  quotaBytes: 'quota',
  maxFileSizeBytes: 'largest',
  allowedMimeTypes: 'types',
  contentMismatch: 'mismatch',
  imagePresets: 'presets',
  stripLocation: 'stripLocation',
} as const satisfies Record<keyof Change, keyof Draft>;

/** The draft of a project that others have changed meanwhile: what somebody has typed here stays, and the rest is as it is now. */
export function rebase(draft: Draft, before: Project, now: Project): Draft {
  const typed = Object.keys(changeOf(before, draft)).map((setting) => fields[setting as keyof Change]);
  return { ...toDraft(now), ...Object.fromEntries(typed.map((field) => [field, draft[field]])) };
}
