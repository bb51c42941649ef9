#!/usr/bin/env bash
# NATS server with JetStream, on 127.0.0.1: the peer that the benchmarks compare with.
#   nats.sh up [DIR] [PORT]      PORT for clients, PORT+1 for its HTTP monitor
#   nats.sh cli DIR ARGS...      the nats command-line tool against it, e.g. bench
# NATS=go (the default) builds the versions in nats/go.mod; NATS=deb takes Debian's nats-server (2.9).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
NAME=nats PORTS=2 DEFAULT_PORT=4222

fetch() {
  local kind=${NATS:-}
  [ -n "$kind" ] || { [ -f "$DIR/conf/kind" ] && kind=$(cat "$DIR/conf/kind"); } || kind=go
  case $kind in
    deb) apt_need nats-server nats-server; BIN=$(command -v nats-server) ;;
    go) gobin nats github.com/nats-io/nats-server/v2 nats-server ;;
    *) die "NATS is deb or go" ;;
  esac
  KIND=$kind
}

configure() {
  echo "$KIND" >"$DIR/conf/kind"
  cat >"$DIR/conf/nats.conf" <<EOF
listen: "$HOST:$PORT"
http: "$HOST:$((PORT + 1))"
jetstream { store_dir: "$DIR/data", max_memory_store: 268435456, max_file_store: 8589934592 }
EOF
  [ -z "${NATS_CONFIG:-}" ] || cat "$NATS_CONFIG" >>"$DIR/conf/nats.conf"
}

launch() {
  alive nats && return 0
  want_port "$PORT"; want_port $((PORT + 1))
  : >"$DIR/log/nats.out"
  spawn nats "$BIN" -c "$DIR/conf/nats.conf"
}

health() { curl -fsS -m 2 "http://$HOST:$((PORT + 1))/healthz?js-enabled=true" | grep -q '"ok"'; }
ready() { need curl; until_ok "${WAIT:-30}" nats health; }
endpoint() { echo "nats://$HOST:$PORT"; }
halt() { stop nats TERM 10; }
crash() { stop nats KILL 5; }
memory() {
  alive nats || { echo "nats down"; return 3; }
  echo "nats pid=$PID rss=$(rss nats)MiB"
}

if [ "${1:-}" = cli ]; then
  shift; DIR=${1:?}; shift; read -r PORT <"$DIR/ports"
  gobin nats github.com/nats-io/natscli/nats nats
  exec env XDG_CONFIG_HOME="$DIR/conf" "$BIN" --server "nats://$HOST:$PORT" "$@"
fi
main "$@"
