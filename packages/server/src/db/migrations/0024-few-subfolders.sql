-- Where most folders are in one folder, such as one for each user, PostgreSQL expects every folder to have as many, and reads the
-- whole table for each one of a tree. Most have none: it is told to expect few, from its next analyze on.
alter table folders alter column parent_id set (n_distinct = -0.1);
