#!/bin/bash
# The whole job as a person does it with nothing but curl: sign up, make a project, a key and a folder, upload a folder of
# real files straight to the object store, record them, list them; then what must be refused.
# usage: e2e/walk.sh BASE_URL
# WALK_EMAIL, WALK_PASSWORD: the account to use (made when sign-up is open). WALK_SETUP_TOKEN: for a service beyond loopback.
# WALK_VIDEO_MB: size of the largest file (110). Exit code 1, with the answer, at the first thing that is not as documented.
set -euo pipefail
export LC_ALL=C # file names are bytes here, whatever the terminal believes
base=${1:?usage: e2e/walk.sh BASE_URL}
base=${base%/}
email=${WALK_EMAIL:-walk@example.com}
password=${WALK_PASSWORD:-"walk $RANDOM$RANDOM$RANDOM$RANDOM"}
dir=$(mktemp -d "${TMPDIR:-/tmp}/cadiz-walk.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/files"
session=(-b "$dir/jar" -c "$dir/jar")
answers=0

# --- JSON and HTTP, as far as this walk needs them

# A name as a JSON string: no name here has control characters, so two escapes are all.
json() {
  local escaped=${1//\\/\\\\}
  printf '"%s"' "${escaped//\"/\\\"}"
}

# The first value of a field of $body, as it stands in JSON.
field() { printf '%s' "$body" | grep -oE "\"$1\":(\"([^\"\\\\]|\\\\.)*\"|[^,}]+)" | head -n 1 | sed -E "s/^\"$1\"://" || true; }

# The same as plain text.
text() { field "$1" | sed -E 's/^"(.*)"$/\1/; s/\\(["\\\/])/\1/g'; }

# How many lines contain all of these strings exactly.
count() {
  local lines=$1
  shift
  for part in "$@"; do lines=$(grep -F -- "$part" <<<"$lines" || true); done
  grep -c . <<<"$lines" || true
}

# request METHOD URL [curl options…] → $status and $body (white space between tokens taken out)
request() {
  local method=$1 url=$2
  shift 2
  status=$(curl -sS --globoff --path-as-is -X "$method" -o "$dir/body" -D "$dir/headers" -w '%{http_code}' "$@" "$url") ||
    stop "no answer to $method ${url%%\?*}"
  cat "$dir/headers" "$dir/body" >>"$dir/answers"
  answers=$((answers + 1))
  body=$(sed -E 's/" ?: ?/":/g; s/, (["{])/,\1/g' "$dir/body")
}

# call METHOD PATH JSON|'' [curl options…]
call() {
  local method=$1 path=$2 data=$3
  shift 3
  if [ -n "$data" ]; then set -- -H 'Content-Type: application/json' --data-binary "$data" "$@"; fi
  request "$method" "$base$path" "$@"
}

stop() {
  printf '\nNOT AS DOCUMENTED: %s\n' "$1" >&2
  if [ -n "${status:-}" ]; then printf 'last answer: %s\n%s\n' "$status" "$(head -c 4000 "$dir/body" 2>/dev/null)" >&2; fi
  exit 1
}

# expect STATUS [CODE]: what the last answer must have been
expect() {
  [ "$status" = "$1" ] || stop "expected $1${2:+ $2}, got $status"
  if [ -n "${2:-}" ] && [ "$(text code)" != "$2" ]; then stop "expected the code $2, got $(text code)"; fi
}

step() { printf '%-22s %s\n' "$1" "$2"; }

# --- the folder of files

png=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
jpeg=/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=

# photo NAME BASE64 [EXTRA_BYTES]: an image that opens; what follows its end mark gives it the size of a photo
photo() {
  printf '%s' "$2" | base64 -d >"$dir/files/$1"
  head -c "${3:-0}" /dev/urandom >>"$dir/files/$1"
}

photo 'plain.png' $png
photo 'Urlaub im Süden.jpg' $jpeg 300000
photo '写真 東京.jpg' $jpeg 2000000
photo 'صورة.png' $png 70000
photo 'фото №5.jpg' $jpeg 5
photo '👩‍👩‍👧 family.png' $png 1000000
photo 'फ़ोटो + चित्र.png' $png 1
photo "it's \"quoted\" {1} [2].png" $png 65536
photo 'a%2Fb.txt.png' $png
printf 'one\n' >"$dir/files/Übersicht 100% + #1.txt"
printf 'two\n' >"$dir/files/a%2Fb.txt"
printf 'three\n' >"$dir/files/semi;colon&amp=1?.txt"
printf 'decomposed\n' >"$dir/files/$(printf 're\xcc\x81sume\xcc\x81.txt')"
printf 'composed\n' >"$dir/files/$(printf 'r\xc3\xa9sum\xc3\xa9.txt')"
: >"$dir/files/empty file.txt"
head -c $((${WALK_VIDEO_MB:-110} * 1000000)) /dev/urandom >"$dir/files/video 🎬 clip.mp4"

mime_of() {
  case $1 in *.png) echo image/png ;; *.jpg) echo image/jpeg ;; *.mp4) echo video/mp4 ;; *) echo 'text/plain; charset=utf-8' ;; esac
}

# --- the walk

started=$SECONDS
call GET /readyz ''
expect 200
step ready "$body"

call POST /api/auth/sign-up/email "{\"name\":\"Walker\",\"email\":$(json "$email"),\"password\":$(json "$password")}" \
  "${session[@]}" -H "X-Setup-Token: ${WALK_SETUP_TOKEN:-}"
if [ "$status" = 200 ]; then
  step 'signed up' "$email"
else
  expect 403 sign_up_closed
  [ -n "${WALK_PASSWORD:-}" ] || stop 'sign-up is closed: set WALK_EMAIL and WALK_PASSWORD'
  call POST /api/auth/sign-in/email "{\"email\":$(json "$email"),\"password\":$(json "$password")}" "${session[@]}"
  expect 200
  step 'signed in' "$email"
fi

project_name='Walk: "Übersicht" 写真'
call POST /api/projects "{\"name\":$(json "$project_name")}" "${session[@]}"
expect 200
project=$(text id)
[ "$(field name)" = "$(json "$project_name")" ] || stop 'the project has another name'
step project "$project"

call POST /api/api-keys "{\"name\":\"walk\",\"projectId\":\"$project\"}" "${session[@]}"
expect 200
key=$(text key) key_id=$(text id)
[[ $key =~ ^cz_live_[0-9A-Za-z]{49}$ ]] || stop 'the key is not cz_live_ and 49 base62 characters'
: >"$dir/answers" # from here on no answer may contain the key
answers=0
bearer=(-H "Authorization: Bearer $key")
step 'API key' "${key:0:11}… ($key_id)"

folder_name='Ferien 2026 – "best of" & more'
call POST /api/storage/folders "{\"projectId\":\"$project\",\"name\":$(json "$folder_name"),\"parentId\":null}" "${bearer[@]}"
expect 200
folder=$(text id)
[ "$(field name)" = "$(json "$folder_name")" ] || stop 'the folder has another name'
step folder "$folder"

# facts NAME SIZE FOLDER_JSON: the fields that presign and record share
facts() {
  printf '"projectId":"%s","fileName":%s,"fileSize":%d,"mimeType":"%s","folderId":%s' \
    "$project" "$(json "$1")" "$2" "$(mime_of "$1")" "$3"
}

presign() {
  call POST /api/storage/presign "{$(facts "$@")}" "${bearer[@]}"
  expect 200
  url=$(text presignedUrl) store_key=$(field storeKey)
}

# record STORE_KEY_JSON NAME SIZE FOLDER_JSON
record() {
  local store_key=$1
  shift
  call POST /api/storage/record "{$(facts "$@"),\"storeKey\":$store_key}" "${bearer[@]}"
}

names=() sizes=() folders=() store_keys=() ids=()
in_folder=0
for path in "$dir"/files/*; do
  name=${path##*/}
  size=$(($(wc -c <"$path")))
  where=null
  if [ $((${#names[@]} % 2)) = 1 ]; then where="\"$folder\"" in_folder=$((in_folder + 1)); fi

  presign "$name" "$size" "$where"
  pattern="^\"$project/[0-9]{19}-"
  [[ $store_key =~ $pattern ]] || stop 'the storeKey is not <projectId>/<19 digits>-…'
  suffix=$(json "$name")
  [[ $store_key == *"-${suffix#\"}" ]] || stop 'the storeKey does not end in the name'
  [[ ${url%%\?*} != "$base"/* ]] || stop 'the bytes would pass through the service'

  request PUT "$url" -T "$path"
  expect 200
  record "$store_key" "$name" "$size" "$where"
  expect 200
  [ "$(field storeKey)" = "$store_key" ] || stop 'recorded under another storeKey'
  [ "$(field fileName)" = "$(json "$name")" ] || stop 'recorded under another name'
  [ "$(field fileSize)" = "$size" ] || stop 'recorded with another size'
  [ "$(field folderId)" = "$where" ] || stop 'recorded in another folder'
  etag=$(text etag | tr -d '"')
  if [[ $etag =~ ^[0-9a-f]{32}$ ]] && command -v md5sum >/dev/null; then
    [ "$(md5sum <"$path" | head -c 32)" = "$etag" ] || stop 'the object store has other bytes'
  fi
  step "$size" "$name"
  names+=("$name") sizes+=("$size") folders+=("$where") store_keys+=("$store_key") ids+=("$(text id)")
done
step 'uploaded to' "$(sed -E 's#^([a-z]+://[^/]*/[^/]*)/.*#\1#' <<<"$url")"

# check_list WHAT EXPECTED_FILES ONLY_FOLDER_JSON|'': every name, size and storeKey is in $body exactly once
check_list() {
  local what=$1 expected=$2 only=$3 lines i
  lines=$(sed 's/},{/}\n{/g' <<<"$body")
  [ "$(grep -oF '"storeKey":' <<<"$lines" | grep -c .)" = "$expected" ] || stop "$what: not $expected files"
  for i in "${!names[@]}"; do
    if [ -n "$only" ] && [ "${folders[i]}" != "$only" ]; then continue; fi
    [ "$(count "$lines" "\"storeKey\":${store_keys[i]}")" = 1 ] || stop "$what: not once: ${store_keys[i]}"
    [ "$(count "$lines" "\"storeKey\":${store_keys[i]}" "\"id\":\"${ids[i]}\"" "\"fileName\":$(json "${names[i]}")" \
      "\"fileSize\":${sizes[i]}," "\"mimeType\":\"$(mime_of "${names[i]}")\"" "\"folderId\":${folders[i]}")" = 1 ] ||
      stop "$what: other facts for ${names[i]}"
  done
  [ "$(field nextCursor)" = null ] || stop "$what: nextCursor is not null"
}

call GET "/api/storage/list?projectId=$project" '' "${bearer[@]}"
expect 200
check_list 'the whole project' ${#names[@]} ''
[[ $body == *"\"breadcrumbs\":[{\"id\":null,\"name\":$(json "$project_name")}]"* ]] || stop 'breadcrumbs are not the root'
[ "$(count "$(sed 's/[{]/\n{/g' <<<"$body")" "\"id\":\"$folder\"" "\"name\":$(json "$folder_name")" '"parentId":null')" = 1 ] ||
  stop 'the folder is not listed once'
step 'whole project' "${#names[@]} files, 1 folder, each once"

call GET "/api/storage/list?projectId=$project&folderId=$folder" '' "${bearer[@]}"
expect 200
check_list 'one folder' "$in_folder" "\"$folder\""
crumbs="{\"id\":null,\"name\":$(json "$project_name")},{\"id\":\"$folder\",\"name\":$(json "$folder_name")}"
[[ $body == *"\"breadcrumbs\":[$crumbs]"* ]] || stop 'breadcrumbs are not the root and the folder'
step 'one folder' "$in_folder files, each once"

call GET "/api/storage/list?projectId=$project&folderId=root" '' "${bearer[@]}"
expect 200
check_list 'the root' $((${#names[@]} - in_folder)) null
step 'the root' "$((${#names[@]} - in_folder)) files, each once"

# --- what must be refused

record "${store_keys[0]}" "${names[0]}" "${sizes[0]}" "${folders[0]}"
expect 200
[ "$(text id)" = "${ids[0]}" ] || stop 'a repeated record made another file'
step 'recorded again' 'the same file'

record "${store_keys[0]}" "another ${names[0]}" "${sizes[0]}" "${folders[0]}"
expect 409 already_recorded
step 'with another name' "$status already_recorded"

presign 'too long.txt' 4 null
request PUT "$url" --data-binary 'five!'
expect 403
step 'one byte too many' "$status"

record "$store_key" 'too long.txt' 4 null
expect 409 upload_missing
step 'record, no upload' "$status upload_missing"

request PUT "$url" --data-binary 'four'
expect 200
record "$store_key" 'too long.txt' 5 null
expect 409 upload_size_mismatch
step 'record, other size' "$status upload_size_mismatch"

call GET "/api/storage/list?projectId=$project" '' "${bearer[@]}"
check_list 'after the refusals' ${#names[@]} ''
step 'after the refusals' "still ${#names[@]} files"

call GET "/api/api-keys?projectId=$project" '' "${bearer[@]}"
expect 401 session_required
step 'keys, asked by a key' "$status session_required"

call GET "/api/api-keys?projectId=$project" '' "${session[@]}"
expect 200
if command -v sha256sum >/dev/null; then
  hash=$(printf %s "$key" | sha256sum | head -c 64)
  [ "$(text keyHash)" = "sha256:$hash" ] || stop 'keyHash is not the SHA-256 of the key'
fi
step 'keys, listed' "by hash, …$(text last4)"

call DELETE "/api/api-keys/$key_id" '' "${session[@]}"
expect 200
[ "$(field revokedAt)" != null ] || stop 'a revoked key has no revokedAt'
revoked=$SECONDS
# Documented: dead everywhere within 1 s with notifications between replicas, within 10 s without.
until call GET "/api/storage/list?projectId=$project" '' "${bearer[@]}" && [ "$status" = 401 ]; do
  [ $((SECONDS - revoked)) -le 10 ] || stop 'a revoked key still works after 10 s'
  sleep 0.2
done
expect 401 invalid_api_key
step 'revoked key' "$status invalid_api_key, within $((SECONDS - revoked + 1)) s"

if grep -qF "$key" "$dir/answers"; then stop 'an answer other than the creation contains the raw key'; fi
step 'the raw key' "in none of the $answers answers after its creation"
step done "${#names[@]} files in $((SECONDS - started)) s"
