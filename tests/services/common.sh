# shellcheck shell=bash
# What the service scripts share. Sourced, never run.
#
# A service script starts a real server that tests and benchmarks are run against, without a container and without root.
# Everything that it writes is under one directory, $DIR:
#   $DIR/ports     the ports it was given        $DIR/*.pid  "PID STARTTIME" of each process
#   $DIR/conf/     generated configuration       $DIR/data/  the service's data
#   $DIR/log/      its output

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${SERVICES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ackline-services}
HOST=127.0.0.1

die() { echo "$(basename "$0"): $*" >&2; exit 1; }
say() { echo "$(basename "$0"): $*" >&2; }

need() { command -v "$1" >/dev/null 2>&1 || die "needs $1${2:+ ($2)}"; }

# apt_need PROGRAM PACKAGE: install PACKAGE with apt-get when PROGRAM (a name or a path) is missing. The package does not
# start a service of its own: only what the tests start runs.
apt_need() {
  command -v "$1" >/dev/null 2>&1 && return 0
  [ "$(id -u)" = 0 ] || die "needs $1: apt-get install $2"
  say "installing $2"
  local policy=/usr/sbin/policy-rc.d made= get=(env DEBIAN_FRONTEND=noninteractive apt-get) rc=0
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod +x "$policy"; made=1
  fi
  "${get[@]}" install -y -q --no-install-recommends "$2" >/dev/null 2>&1 ||
    { "${get[@]}" update -q >/dev/null 2>&1 && "${get[@]}" install -y -q --no-install-recommends "$2" >/dev/null; } || rc=1
  [ -z "$made" ] || rm -f "$policy"
  [ "$rc" = 0 ] || die "could not install $2"
}

port_open() { (exec 3<>"/dev/tcp/$HOST/$1") 2>/dev/null; }

# want_port PORT: die unless PORT comes free (a killed process may hold it for a moment)
want_port() {
  local i
  for ((i = 0; i < 100; i++)); do port_open "$1" || return 0; sleep 0.05; done
  die "port $1 is taken"
}

# free_run N: the first of N consecutive ports that nothing listens on.
free_run() {
  local n=$1 p i
  while :; do
    p=$((20000 + RANDOM % 12000))
    for ((i = 0; i < n; i++)); do port_open $((p + i)) && continue 2; done
    echo "$p"; return
  done
}

# start time of a process in clock ticks, so that a reused pid is never taken for ours
_stime() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# spawn NAME CMD...: run CMD detached, with output to $DIR/log/NAME.out
spawn() {
  local name=$1; shift
  mkdir -p "$DIR/log"
  setsid "$@" </dev/null >>"$DIR/log/$name.out" 2>&1 &
  local pid=$!
  echo "$pid $(_stime "$pid")" >"$DIR/$name.pid"
  disown "$pid" 2>/dev/null || true
}

# alive NAME: true while the process recorded for NAME runs; sets PID
alive() {
  local st; PID=
  [ -f "$DIR/$1.pid" ] || return 1
  read -r PID st <"$DIR/$1.pid" || return 1
  [ -n "$PID" ] && [ "$(_stime "$PID")" = "$st" ] &&
    ! grep -q '^State:[[:space:]]*Z' "/proc/$PID/status" 2>/dev/null
}

# stop NAME [SIGNAL] [SECONDS]: signal our own process, KILL it when it outlives SECONDS
stop() {
  local name=$1 sig=${2:-TERM} secs=${3:-20} i
  if alive "$name"; then
    kill "-$sig" "$PID" 2>/dev/null || true
    kill -CONT "$PID" 2>/dev/null || true  # it may be paused
    for ((i = 0; i < secs * 20; i++)); do alive "$name" || break; sleep 0.05; done
    if alive "$name"; then kill -KILL "$PID" 2>/dev/null || true; sleep 0.2; fi
  fi
  rm -f "$DIR/$name.pid"
}

# until_ok SECONDS NAME CMD...: run CMD until it succeeds, NAME dies or SECONDS pass
until_ok() {
  local secs=$1 name=$2 end; shift 2
  end=$(($(date +%s) + secs))
  until "$@" >/dev/null 2>&1; do
    alive "$name" || { tail -n 25 "$DIR/log/$name.out" >&2; die "$name died while starting, see $DIR/log"; }
    [ "$(date +%s)" -lt "$end" ] ||
      { tail -n 25 "$DIR/log/$name.out" >&2; die "$name not ready after $secs s, see $DIR/log"; }
    sleep 0.1
  done
}

# running: the names of the processes of $DIR that run; fails when there are none
running() {
  local f n rc=1
  for f in "$DIR"/*.pid; do
    [ -f "$f" ] || continue
    n=$(basename "$f" .pid)
    if alive "$n"; then echo "$n"; rc=0; fi
  done
  return $rc
}

# rss NAME: resident memory of NAME in MiB
rss() { alive "$1" && awk '/^VmRSS/ {printf "%d", $2 / 1024}' "/proc/$PID/status"; }

# jars NAME: the jars of $HERE/NAME/pom.xml, in a folder of the cache; sets JARS
jars() {
  local name=$1 pom=$HERE/$1/pom.xml sum
  apt_need java openjdk-17-jdk-headless
  sum=$(sha256sum "$pom" | cut -c1-12)
  JARS=$CACHE/$name-$sum
  [ -f "$JARS/.complete" ] && return 0
  apt_need mvn maven
  mkdir -p "$CACHE"
  (
    flock 9; [ -f "$JARS/.complete" ] && exit 0
    say "fetching the jars of $name/pom.xml"
    tmp=$CACHE/.$name.part; rm -rf "$tmp" "$JARS"
    mvn -q -B -f "$pom" dependency:copy-dependencies -DincludeScope=runtime \
      -DoutputDirectory="$tmp" >"$tmp.log" 2>&1 || { tail -n 20 "$tmp.log" >&2; die "maven failed, see $tmp.log"; }
    touch "$tmp/.complete"; mv -T "$tmp" "$JARS"; rm -f "$tmp.log"
  ) 9>"$CACHE/.$name.lock"
}

# gobin NAME PACKAGE PROGRAM: build PACKAGE as pinned in $HERE/NAME/go.mod into the cache; sets BIN
gobin() {
  local name=$1 pkg=$2 prog=$3 mod=$HERE/$1/go.mod dir
  dir=$CACHE/$name-$(sha256sum "$mod" | cut -c1-12)
  BIN=$dir/$prog
  [ -x "$BIN" ] && return 0
  need go "a Go toolchain"
  mkdir -p "$dir"
  (
    flock 9; [ -x "$BIN" ] && exit 0
    say "building $pkg from $name/go.mod"
    tmp=$CACHE/.$name.part; rm -rf "$tmp"; mkdir "$tmp"; cp "$mod" "$tmp/go.mod"
    (cd "$tmp" && GOFLAGS=-mod=mod go build -o "$tmp/$prog" "$pkg") >"$tmp.log" 2>&1 ||
      { tail -n 20 "$tmp.log" >&2; die "go build failed, see $tmp.log"; }
    mv -f "$tmp/$prog" "$BIN"; rm -rf "$tmp" "$tmp.log"
  ) 9>"$CACHE/.$name.lock"
}

# main VERB [DIR] [PORT]; the script defines NAME PORTS DEFAULT_PORT and the functions
# fetch configure launch ready endpoint halt crash memory
main() {
  local verb=${1:-help}; [ $# -gt 0 ] && shift
  DIR=${1:-${TMPDIR:-/tmp}/services/$NAME}
  case $verb in
    fetch) fetch; return ;;
    up|start|wait|restart|crash|pause|resume|down|purge|status|endpoint) ;;
    *) echo "usage: $(basename "$0") fetch | up|start [DIR] [PORT] | VERB [DIR]
  VERB is wait, restart, crash, pause, resume, down, purge, status or endpoint:
  up       start over DIR (new or kept), wait until it serves, print the endpoint; PORT 0 picks free ports
  start    the same without waiting      wait   wait for a started one
  restart  kill -9, then up over the same data and ports      crash  kill -9 only
  pause    SIGSTOP, so that it hangs     resume    SIGCONT
  down     stop, keep the data           purge  kill -9, then remove DIR
  status   processes and memory          endpoint  print the endpoint"
      [ "$verb" = help ]; return ;;
  esac
  local given=${2:-}
  mkdir -p "$(dirname "$DIR")"
  case $verb in
    up|start) mkdir -p "$DIR" ;;
    *) [ -d "$DIR" ] || { case $verb in down|purge) return 0 ;; esac; die "no such directory: $DIR (up first)"; } ;;
  esac
  DIR=$(cd "$DIR" && pwd)
  if [ -f "$DIR/ports" ] && { [ -z "$given" ] || [ "$given" = 0 ]; }; then read -r PORT <"$DIR/ports"
  elif [ -f "$DIR/ports" ] && [ "$given" != "$(cat "$DIR/ports")" ] && running >/dev/null; then
    die "$DIR is up on port $(cat "$DIR/ports"), not $given"
  elif [ "$given" = 0 ]; then PORT=$(free_run "${PORTS:?}")
  else PORT=${given:-$DEFAULT_PORT}; fi
  case $verb in
    up|start)
      fetch
      mkdir -p "$DIR/conf" "$DIR/data" "$DIR/log"
      echo "$PORT" >"$DIR/ports"
      configure; launch
      [ "$verb" = start ] || { ready; endpoint; } ;;
    wait) ready; endpoint ;;
    restart) crash; fetch; configure; launch; ready; endpoint ;;
    crash) crash ;;
    pause|resume)
      local n; for n in $(running); do
        alive "$n" && kill "-$([ "$verb" = pause ] && echo STOP || echo CONT)" "$PID"
      done ;;
    down) halt ;;
    purge) [ -f "$DIR/ports" ] || die "$DIR is not a directory of this script"; crash; rm -rf "$DIR" ;;
    status) memory ;;
    endpoint) endpoint ;;
  esac
}
