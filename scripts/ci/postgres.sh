#!/bin/bash
# A throwaway PostgreSQL 15 for tests: loopback only, no password, nothing flushed to disk.
# usage: postgres.sh start|stop|url|log      (state in $PG_DIR, default ${TMPDIR:-/tmp}/cadiz-postgres; PG_MAX_CONNECTIONS)
#        postgres.sh halt|resume             (as a crash does: the data stays, and so does the address)
set -euo pipefail
dir=${PG_DIR:-${TMPDIR:-/tmp}/cadiz-postgres}
bin=${PG_BIN:-/usr/lib/postgresql/15/bin}

# The server refuses to run as root, so root becomes somebody else for it.
as_owner() {
  if [ "$(id -u)" != 0 ]; then "$@"; else (cd "$dir" && setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups -- "$@"); fi
}

owner() { if id postgres >/dev/null 2>&1; then echo postgres; else echo nobody; fi; }
free_port() { node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'; }
url() { echo "postgres://postgres@127.0.0.1:$(cat "$dir/port")/postgres"; }
running() { [ -s "$dir/data/postmaster.pid" ] && kill -0 "$(head -n 1 "$dir/data/postmaster.pid")" 2>/dev/null; }

start() {
  [ -x "$bin/initdb" ] || { echo "no PostgreSQL in $bin: apt-get install postgresql-15, or set PG_BIN" >&2; exit 1; }
  if running; then echo "already running in $dir: stop it first" >&2; exit 1; fi
  rm -rf "$dir" && mkdir -p "$dir"
  owner=$(owner)
  if [ "$(id -u)" = 0 ]; then chown "$owner" "$dir"; fi
  local port
  port=$(free_port)
  echo "$port" >"$dir/port"
  as_owner "$bin/initdb" -D "$dir/data" -U postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync >"$dir/initdb.log" 2>&1 ||
    { cat "$dir/initdb.log" >&2; exit 1; }
  launch
  url
}

launch() {
  as_owner "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/server.log" -w -t 60 -s start -o \
    "-p $(cat "$dir/port") -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=${PG_MAX_CONNECTIONS:-200} -c fsync=off -c synchronous_commit=off -c full_page_writes=off" ||
    { log >&2; exit 1; }
}

halt() {
  owner=$(owner)
  as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate -w -t 60 -s stop
}

resume() {
  owner=$(owner)
  launch
}

stop() {
  if running; then halt; fi
  rm -rf "$dir"
}

log() { tail -n 40 "$dir/data/server.log"; }

case "${1:-}" in
  start | stop | url | log | halt | resume) "$1" ;;
  *) echo "usage: $0 start|stop|url|log|halt|resume" >&2; exit 2 ;;
esac
