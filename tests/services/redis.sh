#!/usr/bin/env bash
# Redis with its append-only file, from Debian, on 127.0.0.1: a peer of the benchmarks.
#   redis.sh up [DIR] [PORT]     REDIS_FSYNC is always or everysec (its default)
#   redis.sh cli DIR ARGS...     redis-cli against it
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
NAME=redis PORTS=1 DEFAULT_PORT=6379

fetch() { apt_need redis-server redis-server; }

configure() {
  cat >"$DIR/conf/redis.conf" <<EOF
bind $HOST
port $PORT
dir $DIR/data
appendonly yes
appendfsync ${REDIS_FSYNC:-everysec}
save ""
daemonize no
EOF
}

launch() {
  alive redis && return 0
  want_port "$PORT"
  spawn redis redis-server "$DIR/conf/redis.conf"
}

answers() { [ "$(redis-cli -h "$HOST" -p "$PORT" ping)" = PONG ]; }
ready() { until_ok "${WAIT:-30}" redis answers; }
endpoint() { echo "$HOST:$PORT"; }
halt() { stop redis TERM 10; }
crash() { stop redis KILL 5; }
memory() {
  alive redis || { echo "redis down"; return 3; }
  echo "redis pid=$PID rss=$(rss redis)MiB"
}

if [ "${1:-}" = cli ]; then
  shift; DIR=${1:?}; shift; read -r PORT <"$DIR/ports"
  exec redis-cli -h "$HOST" -p "$PORT" "$@"
fi
main "$@"
