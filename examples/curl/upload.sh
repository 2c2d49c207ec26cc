#!/bin/bash
# CADIZ_URL=… CADIZ_API_KEY=… examples/curl/upload.sh FILE
# The three requests of an upload, by hand: presign, PUT, record. Needs curl 7.76 or newer and jq. The key is tied to a project or to a folder.
set -euo pipefail
file=$1 url=${CADIZ_URL:-http://localhost:4000}

# An answer that is a failure says what is wrong, so it is shown.
try() { local answer; if answer=$(curl -sS --fail-with-body "$@"); then echo "$answer"; else echo "$answer" >&2; return 1; fi; }
api() { try -H "Authorization: Bearer $CADIZ_API_KEY" -H 'Content-Type: application/json' "$@"; }

key=$(api "$url/api/storage/key")
facts=$(jq --arg fileName "$(basename "$file")" --arg mimeType "$(file -b --mime-type "$file")" \
  --argjson fileSize "$(stat -c %s "$file")" '{projectId, $fileName, $mimeType, $fileSize, folderId}' <<<"$key")

upload=$(api "$url/api/storage/presign" -d "$facts")
# -g: brackets and braces in the name of a file are no pattern.
try -g -T "$file" "$(jq -r .presignedUrl <<<"$upload")" >/dev/null
jq --argjson facts "$facts" '$facts + {storeKey}' <<<"$upload" | api "$url/api/storage/record" -d @-
