#!/usr/bin/env bash
# PostgreSQL 15 from Debian, on 127.0.0.1: a peer of the benchmarks. Local users are trusted; user and database postgres.
#   postgres.sh up [DIR] [PORT]    POSTGRES_CONFIG is a file of settings that is appended
#   postgres.sh cli DIR ARGS...    psql against it
# The server refuses to run as root: as root, DIR is given to the user postgres, who runs it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
NAME=postgres PORTS=1 DEFAULT_PORT=5432
BINDIR=/usr/lib/postgresql/15/bin

fetch() { apt_need "$BINDIR/postgres" postgresql-15; }

as_user() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups "$@"; else "$@"; fi
}

configure() {
  [ "$(id -u)" != 0 ] || chown postgres: "$DIR" "$DIR/data"
  if [ ! -f "$DIR/data/db/PG_VERSION" ]; then
    (cd / && as_user "$BINDIR/initdb" -D "$DIR/data/db" -U postgres --auth=trust -E UTF8 --locale=C) \
      >"$DIR/log/initdb.out" 2>&1 || { cat "$DIR/log/initdb.out" >&2; die "initdb failed"; }
    cp "$DIR/data/db/postgresql.conf" "$DIR/conf/as-made.conf"
  fi
  {
    cat "$DIR/conf/as-made.conf"
    echo "listen_addresses = '$HOST'"
    echo "port = $PORT"
    echo "unix_socket_directories = ''"
    echo "max_wal_size = 4GB"
    [ -z "${POSTGRES_CONFIG:-}" ] || cat "$POSTGRES_CONFIG"
  } >"$DIR/data/db/postgresql.conf"
}

launch() {
  alive postgres && return 0
  want_port "$PORT"
  if [ "$(id -u)" = 0 ]; then
    spawn postgres setpriv --reuid postgres --regid postgres --clear-groups "$BINDIR/postgres" -D "$DIR/data/db"
  else
    spawn postgres "$BINDIR/postgres" -D "$DIR/data/db"
  fi
}

sql() { "$BINDIR/psql" -h "$HOST" -p "$PORT" -U postgres -X -q -v ON_ERROR_STOP=1 "$@"; }
ready() { until_ok "${WAIT:-30}" postgres sql -c 'SELECT 1'; }
endpoint() { echo "$HOST:$PORT"; }
halt() { stop postgres INT 20; }
crash() { stop postgres QUIT 10; }  # its children end with it, without a checkpoint
memory() {
  alive postgres || { echo "postgres down"; return 3; }
  echo "postgres pid=$PID rss=$(rss postgres)MiB"
}

if [ "${1:-}" = cli ]; then
  shift; DIR=${1:?}; shift; read -r PORT <"$DIR/ports"
  sql "$@"
  exit
fi
main "$@"
