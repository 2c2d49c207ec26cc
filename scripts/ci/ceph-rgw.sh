#!/bin/bash
# A throwaway Ceph RADOS Gateway, a real S3 server by other people, for tests: one monitor, one in-memory OSD, loopback only.
# usage: ceph-rgw.sh start|stop|env|log      (state in $RGW_DIR, default ${TMPDIR:-/tmp}/cadiz-ceph-rgw)
# `start` and `env` print the TEST_S3_* settings, one NAME=value a line.
set -euo pipefail
dir=${RGW_DIR:-${TMPDIR:-/tmp}/cadiz-ceph-rgw}
conf="$dir/ceph.conf"
bucket=cadiz-test
fsid=11111111-2222-3333-4444-555555555555
osd_uuid=aaaaaaaa-0000-4000-8000-000000000000

free_ports() {
  node -e '
    const net = require("node:net");
    const servers = [1, 2].map(() => net.createServer().listen(0, "127.0.0.1"));
    setTimeout(() => { console.log(servers.map((s) => s.address().port).join(" ")); for (const s of servers) s.close(); }, 50);'
}

random() { head -c 512 /dev/urandom | LC_ALL=C tr -dc "$1" | head -c "$2" || true; }

write_conf() {
  mkdir -p "$dir"/{mon,osd0,mgr,log,run,nomodules}
  cat >"$conf" <<E
[global]
fsid = $fsid
mon host = [v2:127.0.0.1:$mon_port/0]
mon initial members = a
public network = 127.0.0.0/8
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv4 = true
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
osd max object name len = 2048
osd check max object name len on startup = false
memstore device bytes = 4294967296
mon allow pool size one = true
mon warn on pool no redundancy = false
mon pg warn min per osd = 0
mon max pg per osd = 2000
mon data avail crit = 1
mon data avail warn = 2
mon tick interval = 1
# A monitor alone has nobody to wait for; the defaults cost seconds for each pool that the gateway makes.
paxos propose interval = 0.05
paxos min wait = 0.01
debug ms = 0
debug mon = 0
debug osd = 0
debug paxos = 0
run dir = $dir/run
admin socket = $dir/run/\$name.asok
log file = $dir/log/\$name.log
keyring = $dir/keyring
pid file = $dir/run/\$name.pid
chdir =
[mon]
mon data = $dir/mon
mon cluster log file = $dir/log/cluster.log
[mgr]
mgr data = $dir/mgr
mgr initial modules =
mgr module path = $dir/nomodules
[osd]
osd data = $dir/osd0
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port
rgw dns name = localhost
rgw enable usage log = false
rgw enable gc threads = false
rgw crypt require ssl = false
rgw thread pool size = 64
debug rgw = 0
E
}

write_keys() {
  ceph-authtool --create-keyring --gen-key -n mon. --cap mon 'allow *' "$dir/keyring"
  ceph-authtool --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' --cap mds 'allow *' "$dir/keyring"
  ceph-authtool --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd' "$dir/keyring"
  ceph-authtool --gen-key -n client.rgw --cap mon 'allow rw' --cap osd 'allow rwx' --cap mgr 'allow rw' "$dir/keyring"
}

# wait_until SECONDS COMMAND…
wait_until() {
  local tries=$(($1 * 5))
  shift
  for _ in $(seq "$tries"); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.2
  done
  echo "waited in vain for: $*" >&2
  return 1
}

osd_up() { ceph -c "$conf" --connect-timeout 5 osd stat | grep -q '1 up'; }
rgw_up() { curl -fsS -o /dev/null "http://127.0.0.1:$port/"; }

make_bucket() {
  curl -fsS -o /dev/null -X PUT --aws-sigv4 aws:amz:us-east-1:s3 --user "$access_key:$secret_key" \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "http://127.0.0.1:$port/$bucket"
}

start_daemons() {
  write_keys
  monmaptool --create --addv a "[v2:127.0.0.1:$mon_port/0]" --fsid "$fsid" --clobber "$dir/monmap"
  ceph-mon -c "$conf" -i a --mkfs --monmap "$dir/monmap" --keyring "$dir/keyring"
  ceph-mon -c "$conf" -i a
  ceph -c "$conf" --connect-timeout 20 osd new "$osd_uuid" 0
  ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid "$osd_uuid"
  ceph-osd -c "$conf" -i 0
  wait_until 30 osd_up
  timeout 60 radosgw -c "$conf" -n client.rgw
  radosgw-admin -c "$conf" -n client.admin user create --uid=cadiz-test --display-name=Test \
    --access-key="$access_key" --secret="$secret_key" >/dev/null
  wait_until 30 rgw_up
  make_bucket
}

start() {
  for program in radosgw radosgw-admin ceph-mon ceph-osd ceph ceph-authtool monmaptool curl; do
    command -v "$program" >/dev/null || { echo "no $program: apt-get install radosgw ceph-mon ceph-osd ceph-common curl" >&2; exit 1; }
  done
  if [ -e "$dir" ]; then stop; fi
  read -r mon_port port <<<"$(free_ports)"
  access_key=$(random A-Z0-9 20)
  secret_key=$(random A-Za-z0-9 40)
  write_conf
  # In the background, because `set -e` is off inside a condition.
  start_daemons >"$dir/log/start.log" 2>&1 &
  wait $! || { log >&2; stop; exit 1; }
  (
    umask 077
    printf '%s\n' "TEST_S3_ENDPOINT=http://127.0.0.1:$port" TEST_S3_REGION=us-east-1 "TEST_S3_BUCKET=$bucket" \
      "TEST_S3_ACCESS_KEY_ID=$access_key" "TEST_S3_SECRET_ACCESS_KEY=$secret_key" >"$dir/env"
  )
  env
}

env() { cat "$dir/env"; }
log() { tail -n 15 "$dir"/log/*.log; }

# The pid files are in a folder of this script's own, so a pid in them is a daemon that it started.
pids() { cat "$dir"/run/{client.rgw,osd.0,mon.a}.pid 2>/dev/null || true; }

stop() {
  local pid
  for pid in $(pids); do kill "$pid" 2>/dev/null || true; done
  for pid in $(pids); do
    for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
  done
  rm -rf "$dir"
}

case "${1:-}" in
  start | stop | env | log) "$1" ;;
  *) echo "usage: $0 start|stop|env|log" >&2; exit 2 ;;
esac
