-- Where most folders are in one folder, such as one for each user, PostgreSQL expects every folder to have as many, and reads the
-- whole table for each one of a tree. Most have none: it is told to expect few.
alter table folders alter column parent_id set (n_distinct = -0.1);

-- What it expects, it has from its last analyze. Of an empty table, it would expect that it stays so.
do $$
begin
  if exists (select from folders) then
    analyze folders;
  end if;
end $$;
