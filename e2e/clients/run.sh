#!/bin/bash
# Drives an S3 server with real clients, and holds what they leave behind to its MD5. It starts nothing by itself.
# usage: AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… [AWS_REGION=us-east-1] run.sh ENDPOINT [awscli|rclone|s3cmd|boto3 …]
# Without names, all of them. Exit code 1 when one fails, 3 when none was installed that was asked for.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# The settings of the caller's machine must not decide how the clients behave.
if [ -z "${CLIENTS_CLEAN:-}" ]; then
  exec env -i PATH="$PATH" HOME=/nonexistent LANG=C.UTF-8 TMPDIR="${TMPDIR:-/tmp}" CLIENTS_CLEAN=1 \
    AWS_ACCESS_KEY_ID="${AWS_ACCESS_KEY_ID:?}" AWS_SECRET_ACCESS_KEY="${AWS_SECRET_ACCESS_KEY:?}" \
    AWS_DEFAULT_REGION="${AWS_REGION:-us-east-1}" bash "$0" "$@"
fi

endpoint=${1:?the endpoint, such as http://127.0.0.1:9000}
shift
address=${endpoint#http://}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/cadiz-clients.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export HOME="$tmp"
cd "$tmp"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

# same FILE FILE WHAT
same() { [ "$(md5sum <"$1")" = "$(md5sum <"$2")" ] || fail "$3: other bytes came back"; }

# same_tree FOLDER FOLDER WHAT
same_tree() { diff -r "$1" "$2" >&2 || fail "$3: the folders differ"; }

# holds TEXT PART WHAT
holds() { grep -qF -- "$2" <<<"$1" || fail "$3: expected $2 in: $1"; }
lacks() { if grep -qF -- "$2" <<<"$1"; then fail "$3: expected no $2 in: $1"; fi; }

# A large file, an empty one, a name that must be encoded, and folders.
mkdir -p tree/a/b tree/c
head -c 30000000 /dev/urandom >tree/large.bin
head -c 4000 /dev/urandom >tree/a/b/small.bin
head -c 70000 /dev/urandom >'tree/c/Ä ö+&=~%20(1).txt'
: >tree/c/empty

# --- awscli

aws_client() {
  local aws=("$1" --endpoint-url "$endpoint") bucket=$2 address
  export AWS_CONFIG_FILE="$tmp/aws-config" AWS_EC2_METADATA_DISABLED=true AWS_PAGER=
  # Without this some versions presign in the old way, SigV2, which no server should take.
  printf '[default]\ns3 =\n  signature_version = s3v4\n  addressing_style = path\n' >"$AWS_CONFIG_FILE"

  "${aws[@]}" s3 mb "s3://$bucket"
  "${aws[@]}" s3 cp --no-progress tree/large.bin "s3://$bucket/large.bin"
  "${aws[@]}" s3 cp --no-progress "s3://$bucket/large.bin" aws-large
  same tree/large.bin aws-large 'aws s3 cp, in parts'
  "${aws[@]}" s3 cp --no-progress - "s3://$bucket/piped" <tree/a/b/small.bin
  "${aws[@]}" s3 cp --no-progress "s3://$bucket/piped" - >aws-piped
  same tree/a/b/small.bin aws-piped 'aws s3 cp of a pipe'

  "${aws[@]}" s3 sync --no-progress tree "s3://$bucket/tree"
  "${aws[@]}" s3 sync --no-progress "s3://$bucket/tree" aws-tree
  same_tree tree aws-tree 'aws s3 sync'
  [ -z "$("${aws[@]}" s3 sync --no-progress tree "s3://$bucket/tree")" ] || fail 'aws s3 sync: the second one had something to do'
  holds "$("${aws[@]}" s3 ls --recursive "s3://$bucket")" 'tree/c/Ä ö+&=~%20(1).txt' 'aws s3 ls'

  "${aws[@]}" s3 cp --no-progress "s3://$bucket/large.bin" "s3://$bucket/copied"
  "${aws[@]}" s3 mv --no-progress "s3://$bucket/copied" "s3://$bucket/moved"
  address=$("${aws[@]}" s3 presign "s3://$bucket/moved")
  curl -fsS -o aws-presigned "$address"
  same tree/large.bin aws-presigned 'aws s3 presign'
  "${aws[@]}" s3api put-object --bucket "$bucket" --key meta --body tree/a/b/small.bin --metadata 'colour=blue' --content-type image/png >/dev/null
  holds "$("${aws[@]}" s3api head-object --bucket "$bucket" --key meta)" '"colour": "blue"' 'aws s3api head-object'
  "${aws[@]}" s3api get-object --bucket "$bucket" --key meta --range bytes=1000-1999 aws-range >/dev/null
  same aws-range <(tail -c +1001 tree/a/b/small.bin | head -c 1000) 'aws s3api get-object --range'

  "${aws[@]}" s3 rm --only-show-errors "s3://$bucket/moved"
  lacks "$("${aws[@]}" s3 ls "s3://$bucket")" moved 'aws s3 rm'
  "${aws[@]}" s3 rm --only-show-errors --recursive "s3://$bucket"
  "${aws[@]}" s3 rb "s3://$bucket"
}

# The one from Debian, and the first in the path where that is another.
run_awscli() {
  local at=0 program
  for program in $(printf '%s\n' /usr/bin/aws "$(command -v aws)" | sort -u); do
    [ -x "$program" ] || continue
    at=$((at + 1))
    "$program" --version
    aws_client "$program" "awscli-$at-$$"
    rm -rf aws-*
  done
}

# --- rclone

run_rclone() {
  local bucket=rclone-$$ rclone
  rclone version | sed -n 1p
  cat >rclone.conf <<C
[s3]
type = s3
provider = Other
access_key_id = $AWS_ACCESS_KEY_ID
secret_access_key = $AWS_SECRET_ACCESS_KEY
endpoint = $endpoint
region = $AWS_DEFAULT_REGION
force_path_style = true
C
  rclone=(rclone --config rclone.conf --retries 1 --s3-upload-cutoff 8M --s3-chunk-size 5M)
  "${rclone[@]}" mkdir "s3:$bucket"
  "${rclone[@]}" copy tree "s3:$bucket/tree"
  "${rclone[@]}" check --download tree "s3:$bucket/tree" 2>/dev/null || fail 'rclone check'
  "${rclone[@]}" copy "s3:$bucket/tree" rclone-tree
  same_tree tree rclone-tree 'rclone copy'
  cp -r tree rclone-changed
  rm rclone-changed/large.bin
  echo changed >rclone-changed/a/b/small.bin
  "${rclone[@]}" sync rclone-changed "s3:$bucket/tree"
  "${rclone[@]}" sync "s3:$bucket/tree" rclone-tree
  same_tree rclone-changed rclone-tree 'rclone sync'
  "${rclone[@]}" copyto "s3:$bucket/tree/c/Ä ö+&=~%20(1).txt" "s3:$bucket/copied"
  "${rclone[@]}" cat "s3:$bucket/copied" >rclone-copied
  same 'tree/c/Ä ö+&=~%20(1).txt' rclone-copied 'rclone copyto on the server'
  holds "$("${rclone[@]}" lsf -R "s3:$bucket")" 'tree/c/empty' 'rclone lsf'
  "${rclone[@]}" deletefile "s3:$bucket/copied"
  lacks "$("${rclone[@]}" lsf "s3:$bucket")" copied 'rclone deletefile'
  "${rclone[@]}" delete "s3:$bucket"
  [ -z "$("${rclone[@]}" lsf -R "s3:$bucket")" ] || fail 'rclone delete left something'
  "${rclone[@]}" rmdir "s3:$bucket"
}

# --- s3cmd

run_s3cmd() {
  local bucket=s3cmd-$$ s3cmd
  s3cmd --version
  : >s3cmd.cfg
  s3cmd=(s3cmd -c s3cmd.cfg --access_key="$AWS_ACCESS_KEY_ID" --secret_key="$AWS_SECRET_ACCESS_KEY" --host="$address"
    --host-bucket="$address" --region="$AWS_DEFAULT_REGION" --no-ssl --no-progress --multipart-chunk-size-mb=5)
  "${s3cmd[@]}" --quiet mb "s3://$bucket"
  "${s3cmd[@]}" --quiet put tree/a/b/small.bin "s3://$bucket/small"
  "${s3cmd[@]}" --quiet get "s3://$bucket/small" s3cmd-small
  same tree/a/b/small.bin s3cmd-small 's3cmd put'
  "${s3cmd[@]}" --quiet put tree/large.bin "s3://$bucket/large"
  "${s3cmd[@]}" --quiet get "s3://$bucket/large" s3cmd-large
  same tree/large.bin s3cmd-large 's3cmd put, in parts'
  "${s3cmd[@]}" --quiet sync tree/ "s3://$bucket/tree/"
  "${s3cmd[@]}" --quiet sync "s3://$bucket/tree/" s3cmd-tree/
  same_tree tree s3cmd-tree 's3cmd sync'
  "${s3cmd[@]}" --quiet cp "s3://$bucket/large" "s3://$bucket/copied"
  "${s3cmd[@]}" --quiet get "s3://$bucket/copied" s3cmd-copied
  same tree/large.bin s3cmd-copied 's3cmd cp on the server'
  holds "$("${s3cmd[@]}" ls -r "s3://$bucket")" 'tree/c/Ä ö+&=~%20(1).txt' 's3cmd ls'
  "${s3cmd[@]}" --quiet del "s3://$bucket/copied"
  lacks "$("${s3cmd[@]}" ls "s3://$bucket")" copied 's3cmd del'
  "${s3cmd[@]}" --quiet del --recursive --force "s3://$bucket"
  "${s3cmd[@]}" --quiet rb "s3://$bucket"
}

# --- boto3

run_boto3() {
  local at=0 python
  for python in $(printf '%s\n' /usr/bin/python3 "$(command -v python3)" | sort -u); do
    "$python" -c 'import boto3' 2>/dev/null || continue
    at=$((at + 1))
    "$python" "$here/boto3-client.py" "$endpoint" "boto3-$at-$$"
  done
}

# --- which of them

is_installed() {
  case $1 in
    awscli) command -v aws ;;
    boto3) /usr/bin/python3 -c 'import boto3' || python3 -c 'import boto3' ;;
    rclone | s3cmd) command -v "$1" ;;
    *) fail "no such client: $1" ;;
  esac >/dev/null 2>&1
}

if [ $# = 0 ]; then set -- awscli rclone s3cmd boto3; fi
ran=0
for client in "$@"; do
  if ! is_installed "$client"; then
    echo "LEFT OUT: $client is not installed"
    continue
  fi
  echo "== $client"
  "run_$client"
  ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || exit 3
