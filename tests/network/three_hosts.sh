#!/bin/bash
# SPDX-License-Identifier: MIT
# Three "hosts" in network namespaces of this test's own, joined by a bridge: they train together over TCP; then the
# link of one is cut while they train, and the others end in time, naming it.
# usage: three_hosts.sh PATH_OF_DIGITS; exit status 77, with the reason, where such namespaces cannot be made.
set -u
digits=$1

if [ "${2:-}" != inside ]; then
    command -v ip > /dev/null || { echo "skipped: no program ip (iproute2) here"; exit 77; }
    reason=$(unshare --user --map-root-user --net --mount true 2>&1) || { echo "skipped: $reason"; exit 77; }
    # Namespaces and what runs in them end with this process.
    exec unshare --user --map-root-user --net --mount --pid --fork --kill-child "$0" "$digits" inside
fi

prepare() {
    mount -t tmpfs tmpfs /run && mkdir -p /run/netns && ip link add bridge0 type bridge && ip link set bridge0 up || return
    local host
    for host in 0 1 2; do
        ip netns add host$host &&
            ip link add port$host type veth peer name eth0 netns host$host &&
            ip link set port$host master bridge0 up &&
            ip -n host$host address add 10.77.0.$((host + 1))/24 dev eth0 &&
            ip -n host$host link set eth0 up &&
            ip -n host$host link set lo up || return
    done
}
reason=$(prepare 2>&1) || { echo "skipped: $reason"; exit 77; }
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT

rank() {  # rank HOST FLAGS...
    local host=$1
    shift
    # LeakSanitizer lists threads by /proc, which tells of the processes outside: it would find somebody else's.
    RANK=$host WORLD_SIZE=3 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 LOCKSTEP_SECRET="open sesame" \
        ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
        timeout 100 ip netns exec host$host "$digits" "$@" > "$logs/$host" 2>&1
}
fail() {
    echo "FAILED: $1"
    tail -n 3 "$logs"/*
    exit 1
}

echo "three hosts train"
for host in 1 2; do rank $host --epochs 3 & done
rank 0 --epochs 3
status=$?
wait
[ $status = 0 ] || fail "rank 0 ended with status $status"
digests=$(grep -h '^parameters:' "$logs"/* | sort | uniq -c)
echo "$digests"
[ "$(echo "$digests" | awk '{print $1}')" = 3 ] || fail "the three do not have the same parameters"

echo "host 2 is cut off"
for host in 0 1 2; do
    rank $host --epochs 10000 --timeout 2s &
    pids[$host]=$!
done
for attempt in $(seq 1000); do
    grep -q 'epoch  2/' "$logs/0" && break
    sleep 0.05
done
grep -q 'epoch  2/' "$logs/0" || fail "no epoch has ended"
ip link set port2 down
cut=$(date +%s%N)
for host in 0 1; do
    wait "${pids[$host]}"
    [ $? = 1 ] || fail "rank $host has not ended with an error of its own"
    after=$((($(date +%s%N) - cut) / 1000000))
    echo "rank $host has ended after $after ms: $(tail -n 1 "$logs/$host")"
    [ $after -lt 4000 ] || fail "rank $host has ended too late"
    tail -n 1 "$logs/$host" | grep -q 'rank 2 is in no collective, or stopped, or cut off' ||
        fail "rank $host does not name rank 2"
done
wait "${pids[2]}"
echo "rank 2: $(tail -n 1 "$logs/2")"
tail -n 1 "$logs/2" | grep -q 'rank 2 has waited 2 s for rank' || fail "rank 2 does not say what it waits for"
echo "passed"
