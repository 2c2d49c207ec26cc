-- How far the walk over files has come that were recorded before anything was known of images, or while none were made.
create table image_walk (
  -- One row.
  one_row boolean primary key default true check (one_row),
  -- The file that was looked at last, in the order of the primary key; null: none yet.
  after_project uuid,
  after_file uuid,
  is_done boolean not null default false
);
insert into image_walk default values;
