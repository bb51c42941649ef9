#!/usr/bin/env bash
# RabbitMQ from Debian, one node, on 127.0.0.1: a peer of the benchmarks. User guest, password guest.
#   rabbitmq.sh up [DIR] [PORT]   PORT for AMQP; PORT+1 and PORT+2 are Erlang's: between nodes, and its port mapper's
#   rabbitmq.sh ctl DIR ARGS...   rabbitmqctl against it
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
NAME=rabbitmq PORTS=3 DEFAULT_PORT=5672
LIB=/usr/lib/rabbitmq/bin

fetch() { apt_need "$LIB/rabbitmq-server" rabbitmq-server; }

configure() {
  cat >"$DIR/conf/rabbitmq.conf" <<EOF
listeners.tcp.default = $HOST:$PORT
EOF
  echo '[].' >"$DIR/conf/plugins"
}

settings() {
  export HOME=$DIR/data RABBITMQ_NODENAME=ackline$PORT@localhost RABBITMQ_NODE_IP_ADDRESS=$HOST \
    RABBITMQ_NODE_PORT=$PORT RABBITMQ_DIST_PORT=$((PORT + 1)) ERL_EPMD_PORT=$((PORT + 2)) ERL_EPMD_ADDRESS=$HOST \
    RABBITMQ_MNESIA_BASE=$DIR/data RABBITMQ_LOG_BASE=$DIR/log RABBITMQ_CONFIG_FILE=$DIR/conf/rabbitmq \
    RABBITMQ_ENABLED_PLUGINS_FILE=$DIR/conf/plugins RABBITMQ_PID_FILE=$DIR/data/pid \
    RABBITMQ_CONF_ENV_FILE=/dev/null \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
}

launch() {
  alive rabbitmq && return 0
  local i; for i in 0 1 2; do want_port $((PORT + i)); done
  settings
  # Erlang would start a port mapper of its own that outlives it.
  spawn epmd epmd -port "$ERL_EPMD_PORT" -address "$HOST"
  until_ok 10 epmd port_open "$ERL_EPMD_PORT"
  : >"$DIR/log/rabbitmq.out"
  spawn rabbitmq "$LIB/rabbitmq-server"
}

ready() {
  until_ok "${WAIT:-60}" rabbitmq grep -qE 'completed with [0-9]+ plugins' "$DIR/log/rabbitmq.out"
  until_ok 10 rabbitmq port_open "$PORT"
}
endpoint() { echo "$HOST:$PORT"; }
halt() { stop rabbitmq TERM 20; stop epmd TERM 5; }
crash() {  # the server is a child of the script that was spawned; Erlang's helpers end when their pipes close
  ! alive rabbitmq || pkill -KILL -P "$PID" || true
  stop rabbitmq KILL 5; stop epmd KILL 5
}
memory() {
  alive rabbitmq || { echo "rabbitmq down"; return 3; }
  echo "rabbitmq pid=$PID rss=$(rss rabbitmq)MiB"
}

if [ "${1:-}" = ctl ]; then
  shift; DIR=${1:?}; shift; read -r PORT <"$DIR/ports"; settings
  exec "$LIB/rabbitmqctl" "$@"
fi
main "$@"
