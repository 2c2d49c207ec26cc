-- Names that are added to the search index are collected beside it, and merged into it together. A search reads those that
-- are still to be merged, too. Whoever adds a name when half a megabyte is waiting, about a thousand names, merges them all.
alter index files_search_index set (fastupdate = on, gin_pending_list_limit = 512);
