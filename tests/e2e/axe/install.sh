#!/usr/bin/env bash
# Puts axe-core, of the version and with the checksum of package-lock.json, into .cache/axe; the browser tests use it.
set -euo pipefail
cd "$(dirname "$0")"
into=../../../.cache/axe
mkdir -p "$into"
cp package.json package-lock.json "$into"
npm ci --prefix "$into" --no-audit --no-fund --ignore-scripts --silent
