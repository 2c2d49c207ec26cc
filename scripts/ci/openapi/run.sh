#!/bin/bash
# Lints the OpenAPI document of a running service, makes a typed client of it, compiles a program with that, and runs it.
# usage: run.sh URL EMAIL PASSWORD      (an account of the service; the tools are installed into a temporary folder)
set -euo pipefail
tools=$(mktemp -d "${TMPDIR:-/tmp}/cadiz-openapi.XXXXXX")
trap 'rm -rf "$tools"' EXIT
cp "$(dirname "$0")"/{package.json,package-lock.json,redocly.yaml,.spectral.yaml,upload.ts} "$tools"
cd "$tools"
npm ci --no-audit --no-fund --loglevel=error
curl -fsS -o openapi.json "$1/openapi.json"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
npx --no-install redocly lint openapi.json --format=json >redocly.out
if ! grep -qE '"totals": *\{ *"errors": *0, *"warnings": *0,' <(tr '\n' ' ' <redocly.out); then cat redocly.out; exit 1; fi
npx --no-install spectral lint openapi.json --fail-severity=warn
npx --no-install openapi-typescript openapi.json -o client.d.ts
npx --no-install tsc upload.ts --strict --skipLibCheck --target es2023 --module nodenext --types node --typeRoots ./node_modules/@types
node upload.js "$@"
