#!/usr/bin/env bash
# Apache Kafka, one KRaft node (broker and controller in one process), on 127.0.0.1.
#   kafka.sh up [DIR] [PORT]     PORT is the clients' listener, PORT+1 the controller's
#   kafka.sh tool CLASS ARGS...   run one of Kafka's own command-line tools
#   kafka.sh jars                 where its jars are
# KAFKA_OPTS adds to the JVM flags, KAFKA_HEAP replaces -Xms256m -Xmx512m,
# KAFKA_CONFIG is a file of broker settings that is appended to the generated ones.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
NAME=kafka PORTS=2 DEFAULT_PORT=9092

fetch() { jars kafka; }

configure() {
  local p=$DIR/conf/server.properties
  cat >"$p" <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@$HOST:$((PORT + 1))
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://$HOST:$PORT,CONTROLLER://$HOST:$((PORT + 1))
advertised.listeners=PLAINTEXT://$HOST:$PORT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$DIR/data/log
num.network.threads=2
num.io.threads=4
num.partitions=1
auto.create.topics.enable=true
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
group.consumer.min.session.timeout.ms=3000
group.min.session.timeout.ms=1000
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=2000
controlled.shutdown.max.retries=1
EOF
  [ -z "${KAFKA_CONFIG:-}" ] || cat "$KAFKA_CONFIG" >>"$p"
  if [ ! -f "$DIR/data/log/meta.properties" ]; then
    java -Xmx128m -XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile="$HERE/kafka/log4j2.properties" -cp "$JARS/*" \
      kafka.tools.StorageTool format -t "$(head -c16 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=')" \
      -c "$p" >"$DIR/log/format.out" 2>&1 || { cat "$DIR/log/format.out" >&2; die "format failed"; }
  fi
}

launch() {
  alive kafka && return 0
  want_port "$PORT"; want_port $((PORT + 1))
  : >"$DIR/log/kafka.out"
  # shellcheck disable=SC2086
  spawn kafka java ${KAFKA_HEAP:--Xms256m -Xmx512m} -XX:+UseG1GC ${KAFKA_OPTS:-} \
    -Dlog4j2.configurationFile="$HERE/kafka/log4j2.properties" -cp "$JARS/*" kafka.Kafka "$DIR/conf/server.properties"
}

ready() {
  until_ok "${WAIT:-60}" kafka grep -q 'Kafka Server started' "$DIR/log/kafka.out"
  until_ok 10 kafka port_open "$PORT"
}
endpoint() { echo "$HOST:$PORT"; }
halt() { stop kafka TERM 20; }
crash() { stop kafka KILL 5; }
memory() {
  alive kafka || { echo "kafka down"; return 3; }
  echo "kafka pid=$PID rss=$(rss kafka)MiB"
}

if [ "${1:-}" = jars ]; then fetch; echo "$JARS"; exit; fi
if [ "${1:-}" = tool ]; then
  shift; fetch
  exec java -Xmx256m -XX:TieredStopAtLevel=1 -Dlog4j2.level=WARN -cp "$JARS/*" "$@"
fi
main "$@"
