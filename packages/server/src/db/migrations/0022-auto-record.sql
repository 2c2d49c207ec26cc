-- Tickets whose uploads are recorded by the service, if nobody else does.
alter table tickets add column auto_record boolean not null default false;

alter table ticket_reservations
  -- What the file is to be, if its ticket records by itself: fileName, mimeType, folderId, and sha256 if it was declared.
  add column facts json,
  -- When its object was first seen in the object store, or announced by it.
  add column seen_at timestamptz(3);
