-- What is known of images, and their variants.

-- One row for each image that has been looked at. `view` is what is answered, as JSON.
create table images (
  project_id uuid not null,
  file_id uuid not null,
  view json not null,
  primary key (project_id, file_id),
  constraint images_file_fkey foreign key (project_id, file_id) references files (project_id, id) on delete cascade
);

-- One row for each object under `.variants/`, from before it is stored until after it is removed. No reference to the file:
-- when that is purged, the row must stay until the object is gone.
create table image_variants (
  project_id uuid not null references projects (id) on delete cascade,
  store_key text collate "C" not null,
  file_id uuid not null,
  -- The options in their canonical form.
  spec text collate "C" not null,
  -- making, ready, abandoned (to be removed)
  state text not null,
  started_at timestamptz(3) not null default now(),
  -- When nothing can arrive under this key any more, so that it can be removed. Set with `abandoned`.
  removable_at timestamptz(3),
  content_type text,
  etag text,
  bytes bigint,
  width integer,
  height integer,
  -- The UTC day on which it was last asked for.
  used_on date,
  primary key (project_id, store_key)
);
create unique index image_variants_spec_key on image_variants (project_id, file_id, spec) where state <> 'abandoned';
create index image_variants_used_index on image_variants (project_id, used_on) where state = 'ready';
create index image_variants_making_index on image_variants (started_at) where state = 'making';
create index image_variants_removable_index on image_variants (removable_at) where state = 'abandoned';

-- The form in which a link serves an image, as the request asked for it.
alter table links add column image json;

alter table projects
  -- Options by the names of presets.
  add column image_presets json,
  -- never, links
  add column strip_location text not null default 'never';
