#!/usr/bin/env bash
# Apache RocketMQ: a name server, one broker and, with ROCKETMQ_PROXY=1, a proxy, on 127.0.0.1.
#   rocketmq.sh up [DIR] [PORT]        PORT name server, PORT+5 broker (PORT+3 its second port,
#                                      PORT+6 replication), PORT+8 proxy remoting, PORT+9 proxy gRPC
#   rocketmq.sh admin DIR COMMAND ARGS...   mqadmin, with the name server's address given
#   rocketmq.sh jars                   where its jars are
# ROCKETMQ_HEAP replaces -Xms256m -Xmx512m of the broker, ROCKETMQ_CONFIG is a file of broker
# settings that is appended to the generated ones, ROCKETMQ_LITE=1 turns lite topics on
# (remembered in DIR, as the proxy is).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
NAME=rocketmq PORTS=10 DEFAULT_PORT=9876

fetch() { jars rocketmq; }

configure() {
  cat >"$DIR/conf/namesrv.conf" <<EOF
listenPort=$PORT
bindAddress=$HOST
kvConfigPath=$DIR/data/namesrv/kvConfig.json
configStorePath=$DIR/data/namesrv/namesrv.properties
deleteTopicWithBrokerRegistration=false
EOF
  local p=$DIR/conf/broker.conf
  cat >"$p" <<EOF
brokerClusterName=DefaultCluster
brokerName=broker-a
brokerId=0
brokerRole=ASYNC_MASTER
flushDiskType=ASYNC_FLUSH
namesrvAddr=$HOST:$PORT
brokerIP1=$HOST
brokerIP2=$HOST
bindAddress=$HOST
listenPort=$((PORT + 5))
haListenPort=$((PORT + 6))
autoCreateTopicEnable=true
autoCreateSubscriptionGroup=true
defaultTopicQueueNums=4
enablePropertyFilter=true
storePathRootDir=$DIR/data/store
storePathCommitLog=$DIR/data/store/commitlog
mappedFileSizeCommitLog=67108864
mappedFileSizeConsumeQueue=600000
maxHashSlotNum=50000
maxIndexNum=200000
mappedFileSizeTimerLog=1048576
diskMaxUsedSpaceRatio=95
warmMapedFileEnable=false
transientStorePoolEnable=false
slaveReadEnable=false
EOF
  if [ -n "${ROCKETMQ_LITE:-}" ] || [ -f "$DIR/conf/lite" ]; then
    touch "$DIR/conf/lite"
    cat >>"$p" <<EOF
enableMultiDispatch=true
enableLmq=true
EOF
  fi
  [ -z "${ROCKETMQ_CONFIG:-}" ] || cat "$ROCKETMQ_CONFIG" >>"$p"
  if [ -n "${ROCKETMQ_PROXY:-}" ] || [ -f "$DIR/conf/rmq-proxy.json" ]; then
    cat >"$DIR/conf/rmq-proxy.json" <<EOF
{
  "rocketMQClusterName": "DefaultCluster",
  "namesrvAddr": "$HOST:$PORT",
  "localServeAddr": "$HOST",
  "remotingListenPort": $((PORT + 8)),
  "grpcServerPort": $((PORT + 9))
}
EOF
  fi
}

run_java() { # run_java NAME "JVM FLAGS" MAIN ARGS...
  local name=$1 flags=$2; shift 2
  : >"$DIR/log/$name.out"
  # the servers log below user.home, so that moves into DIR as well
  # shellcheck disable=SC2086
  ROCKETMQ_HOME=$DIR spawn "$name" java $flags -Duser.home="$DIR/log" \
    --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED \
    --add-exports=java.base/jdk.internal.ref=ALL-UNNAMED -Dio.netty.tryReflectionSetAccessible=true \
    -cp "$JARS/*" "$@"
}

launch() {
  if ! alive namesrv; then
    want_port "$PORT"
    run_java namesrv "-Xms64m -Xmx128m -XX:+UseSerialGC" \
      org.apache.rocketmq.namesrv.NamesrvStartup -c "$DIR/conf/namesrv.conf"
    until_ok 60 namesrv port_open "$PORT"
  fi
  if ! alive broker; then
    local i; for i in 3 5 6; do want_port $((PORT + i)); done
    run_java broker "${ROCKETMQ_HEAP:--Xms256m -Xmx512m} -XX:MaxDirectMemorySize=512m -XX:+UseG1GC ${ROCKETMQ_OPTS:-}" \
      org.apache.rocketmq.broker.BrokerStartup -c "$DIR/conf/broker.conf"
  fi
  if [ -f "$DIR/conf/rmq-proxy.json" ] && ! alive proxy; then
    until_ok 60 broker grep -q 'boot success' "$DIR/log/broker.out"
    run_java proxy "-Xms128m -Xmx384m -XX:MaxDirectMemorySize=256m -XX:+UseSerialGC" \
      org.apache.rocketmq.proxy.ProxyStartup -n "$HOST:$PORT" -pm CLUSTER -pc "$DIR/conf/rmq-proxy.json"
  fi
}

ready() {
  until_ok "${WAIT:-60}" broker grep -q 'boot success' "$DIR/log/broker.out"
  until_ok 10 broker port_open $((PORT + 5))
  [ ! -f "$DIR/conf/rmq-proxy.json" ] || until_ok "${WAIT:-60}" proxy port_open $((PORT + 9))
}
endpoint() {
  echo "namesrv $HOST:$PORT"
  echo "broker $HOST:$((PORT + 5))"
  [ ! -f "$DIR/conf/rmq-proxy.json" ] || echo "proxy-remoting $HOST:$((PORT + 8))
proxy-grpc $HOST:$((PORT + 9))"
}
halt() { stop proxy TERM 10; stop broker TERM 30; stop namesrv TERM 10; }
# ROCKETMQ_CRASH=broker leaves the name server and the proxy up
crash() { local n; for n in ${ROCKETMQ_CRASH:-proxy broker namesrv}; do stop "$n" KILL 5; done; }
memory() {
  local n rc=0
  for n in namesrv broker proxy; do
    [ "$n" != proxy ] || [ -f "$DIR/conf/rmq-proxy.json" ] || continue
    if alive "$n"; then echo "$n pid=$PID rss=$(rss "$n")MiB"; else echo "$n down"; rc=3; fi
  done
  return $rc
}

if [ "${1:-}" = jars ]; then fetch; echo "$JARS"; exit; fi
if [ "${1:-}" = admin ]; then
  shift; DIR=${1:?}; shift; cmd=${1:?}; shift; fetch; read -r PORT <"$DIR/ports"
  export ROCKETMQ_HOME=$DIR NAMESRV_ADDR=$HOST:$PORT
  exec java -Xmx256m -XX:TieredStopAtLevel=1 -Duser.home="$DIR/log" -cp "$JARS/*" \
    org.apache.rocketmq.tools.command.MQAdminStartup "$cmd" "$@"
fi
main "$@"
