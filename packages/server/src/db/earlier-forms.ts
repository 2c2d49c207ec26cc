/** An earlier form of a migration that was applied to databases and then changed. */
interface EarlierForm {
  sha256: string;
  /** What the next form does beyond this one. @param last the last form of the migration */
  more: string | ((last: string) => string);
}

/**
 * Before the first release, migrations still changed after they had been applied. These are their earlier forms, the
 * oldest first; the last forms are the files themselves, which never change (decision 0045).
 */
const earlierForms: Record<string, EarlierForm[]> = {
  '0001-foundation.sql': [
    // Only a comment differed.
    { sha256: '61915a28ad282c946562031e0c1de471eb118b3c55d56b812f5e707b2e1c140e', more: '' },
  ],
  '0002-library.sql': [
    {
      sha256: '6b701521c109eb183bd896a738e7835198edac9e5b3935abdfbce7f229312be2',
      more: `
        alter table uploads
          add column aborted_at timestamptz(3),
          add constraint uploads_end_check check (aborted_at is null or completed_at is null);`,
    },
    {
      sha256: '22996067d3f5d0e28f8c6240a6bc4118a6c702dc640ffc55b2e25100c1adb74b',
      more: `
        drop index files_folder_index, files_trash_index;
        create index files_folder_index on files (project_id, folder_id, trash_id, id) include (file_size);
        create index files_trash_index on files (project_id, trashed_at, id) include (file_size) where trash_id is not null;
        alter table projects add column content_mismatch text not null default 'report'
          constraint projects_content_mismatch_check check (content_mismatch in ('report', 'refuse'));`,
    },
    {
      sha256: '08a7cce17c08675330355102152027264037366c717dbaca01607c27d711ab7c',
      more: `
        drop index folders_trash_index;
        create index folders_trash_index on folders (project_id, trash_id, id) where trash_id is not null;
        create index folders_trash_entries_index on folders (project_id, trashed_at, id) where trash_id = id;`,
    },
    {
      sha256: '9c8226a9e46bdd3228a835fe88598f21613582a10bdeff228b66b215e2ccae56',
      more: `
        alter table files
          add column detected_mime_type text,
          add column content_check text not null default 'pending',
          add column check_at timestamptz(3),
          add column sha256 bytea,
          add column sha256_state text;
        update files set check_at = now();
        create index files_check_index on files (check_at, project_id, id) where check_at is not null;
        alter table uploads add column sha256 bytea constraint uploads_sha256_check check (length(sha256) = 32);`,
    },
    {
      sha256: '18b57eae03a38db8db8c78212d9f40c05bbd2c8b67f6ac862d071a1e74669b46',
      more: `
        drop index folders_live_index, files_live_index;
        create index folders_children_name_index on folders (project_id, parent_id, trash_id, name_key, id);
        create index folders_live_index on folders (project_id, trashed_at, id) where trash_id is null;
        create index files_folder_name_index on files (project_id, folder_id, trash_id, name_key, id);
        create index files_folder_size_index on files (project_id, folder_id, trash_id, file_size, id);
        create index files_live_index on files (project_id, trashed_at, id) where trash_id is null;
        create index files_name_index on files (project_id, name_key, id) where trash_id is null;
        create index files_size_index on files (project_id, file_size, id) where trash_id is null;`,
    },
    {
      sha256: 'b9d7b457ef2a3463118056ace13fdd593c8d2aa905cce5419ef5a5eb8c76be84',
      more: `
        alter table files
          drop constraint if exists files_content_check_check,
          drop constraint if exists files_sha256_check,
          drop constraint if exists files_sha256_state_check,
          drop constraint if exists files_sha256_state_given;`,
    },
    {
      sha256: '2773cf0dcb468db323a565a75d29a64172cc0d959d193e924accb14c6a0cdbeb',
      more: (last) => `
        drop index if exists files_search_index, folders_search_index;
        drop function if exists name_grams;
        ${excerpt(last, 'create function name_grams', 'alter table projects')}`,
    },
  ],
  '0005-sign-in.sql': [
    {
      sha256: '673efea1a3592c7816039537ec41c85bbbed350fd2a029f40f1e118b3da53147',
      more: (last) => excerpt(last, 'create unique index accounts_provider_account_index', 'create unlogged table'),
    },
    {
      sha256: '00e285855d4a5649fc0d1f9048de448c8b92cc2552680e2ff341560aacfab8b8',
      more: (last) => excerpt(last, 'create unlogged table', 'alter table users add column two_factor_enabled'),
    },
    {
      sha256: '71e86ce66c6167024f3e4c595f98f8e7ed3314cac2e1a5d3856b3d32bd4a679b',
      more: (last) => excerpt(last, 'alter table users add column two_factor_enabled'),
    },
  ],
  '0006-keys-and-audit.sql': [
    {
      sha256: 'e6916f17925fe1d95fef05d97c1f14c8ece142fad86d36571c9dc9ad4bf96c81',
      more: (last) => excerpt(last, 'alter table api_keys', 'create table quarantines'),
    },
    {
      sha256: '298b38cec5f934fda94c55f37884066fdfdac19a8551c01e9f094e5b5ff8c81f',
      more: (last) => excerpt(last, 'create table quarantines'),
    },
  ],
  '0009-proven-addresses.sql': [
    // Only comments differed.
    { sha256: 'cddda3ebed818cfc9117f8391d76dd9db1df2204fc382c1415944642f16d7a49', more: '' },
  ],
  '0010-keys-and-room.sql': [
    {
      sha256: 'b878400acf918531c16d4e26bfc9949019d72c10178ac8a56a677660e5c7782a',
      more: (last) => excerpt(last, 'alter table projects'),
    },
  ],
  '0011-work.sql': [
    {
      sha256: '29515c06440c75fadd5b78409186081f13af70934cfb2e0dd96a8631c57bc909',
      more: 'alter table work drop constraint work_pkey, add primary key (project_id, kind, subject);',
    },
  ],
};

/**
 * Migrations that a database from before the first release can lack although it has the next one, which was merged earlier. The
 * two do not depend on each other.
 */
export const mergedLate: ReadonlySet<string> = new Set([
  '0009-proven-addresses.sql',
  '0013-tickets.sql',
  '0015-operations.sql',
]);

/** Migrations that were renamed: old name to new name. */
const renamed: Record<string, string> = { '0003-janitor.sql': '0004-janitor.sql' };

/** The excerpt from where one string begins up to where another one does. */
function excerpt(sql: string, from: string, until?: string): string {
  return sql.slice(sql.indexOf(from), until === undefined ? undefined : sql.indexOf(until));
}

/** What takes a database from an earlier form of a migration to its last one. */
export interface CatchUp {
  /** The migration's current name. */
  name: string;
  sql: string;
}

/**
 * @param last returns the last form of a migration, by its name
 * @returns undefined unless this was an earlier form of one
 */
export function findCatchUp(
  applied: { name: string; sha256: string },
  last: (name: string) => string | undefined,
): CatchUp | undefined {
  const name = renamed[applied.name] ?? applied.name;
  const sql = last(name);
  if (sql === undefined) return undefined;
  const forms = earlierForms[name] ?? [];
  const index = forms.findIndex(({ sha256 }) => sha256 === applied.sha256);
  if (index === -1) return name === applied.name ? undefined : { name, sql: '' };
  const missing = forms.slice(index).map(({ more }) => (typeof more === 'string' ? more : more(sql)));
  return { name, sql: missing.join('\n') };
}
