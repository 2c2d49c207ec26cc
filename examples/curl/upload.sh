#!/bin/bash
# CADIZ_URL=… CADIZ_API_KEY=… examples/curl/upload.sh FILE
# The three requests of an upload, by hand: presign, PUT, record. Needs curl and jq.
set -euo pipefail
file=$1 url=${CADIZ_URL:-http://localhost:4000}

api() { curl -fsS -H "Authorization: Bearer $CADIZ_API_KEY" -H 'Content-Type: application/json' "$@"; }

project=$(api "$url/api/storage/key" | jq -r .projectId)
facts=$(jq -n --arg projectId "$project" --arg fileName "$(basename "$file")" --arg mimeType "$(file -b --mime-type "$file")" \
  --argjson fileSize "$(stat -c %s "$file")" '{$projectId, $fileName, $mimeType, $fileSize, folderId: null}')

upload=$(api "$url/api/storage/presign" -d "$facts")
# -g: brackets and braces in the name of a file are no pattern.
curl -fsSg -T "$file" "$(jq -r .presignedUrl <<<"$upload")"
jq --argjson facts "$facts" '$facts + {storeKey}' <<<"$upload" | api "$url/api/storage/record" -d @-
