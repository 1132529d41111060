#!/bin/sh
# Publishes the ledger's site to any host that serves a folder: run it after each pull, or from cron.
# Usage: sh publish.sh HOST:FOLDER/   (a local folder does as well)
set -eu
TARGET=${1:?say where to: HOST:FOLDER/, or a folder}
# Where the ledger is, and where the site is built.
LEDGER=${LEDGER:-.}
OUTPUT=${OUTPUT:-$LEDGER/site/_build}
trialbook --ledger "$LEDGER" site build --output "$OUTPUT"
# Pages go before what they replace is removed, so that no visitor meets half a site. The list of what
# was built stays here.
rsync --archive --delay-updates --delete-delay --exclude '/.trialbook-site*' "$OUTPUT/" "$TARGET"
