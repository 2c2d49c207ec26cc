-- The request that did it, as its answer and the log name it. Null for what no request did, and for earlier events.
alter table audit_events add column request_id uuid;
