#!/bin/sh
# System tools that tests use and the package index does not have. As root on Debian they are installed;
# elsewhere the tests that need them are skipped and say so (with CI=true that is a failure).
set -eu

missing=""
command -v bwrap >/dev/null 2>&1 || missing="$missing bubblewrap"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 - the names are words
    if { apt-get install -qq --yes --no-install-recommends $missing ||
        { apt-get update -qq && apt-get install -qq --yes --no-install-recommends $missing; }; } >/dev/null 2>&1; then
        exit 0
    fi
    echo "could not install$missing" >&2
fi
echo "missing:$missing; the tests that need them are skipped" >&2
