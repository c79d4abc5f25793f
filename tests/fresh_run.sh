#!/bin/sh
# A newcomer's first minutes: a clean clone, an empty home, a minimal PATH. `make run` must come up, serve a
# sample site, carry a mail out, and leave nothing behind; then `make demo` must see all it plays. Prints how
# long it took.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
pid=
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null && wait "$pid" || true; fi; rm -rf "$work"' EXIT
git clone --quiet "$root" "$work/clone"
mkdir "$work/home"
cd "$work/clone"

# It takes the place of the shell it is called in, so that a signal to that reaches it. pip's own settings may
# say where the package index is.
clean() {
    exec env -i HOME="$work/home" PATH="$(dirname "$python"):/usr/bin:/bin" PIP_CONFIG_FILE="${PIP_CONFIG_FILE:-}" \
        PIP_INDEX_URL="${PIP_INDEX_URL:-}" "$@"
}

began=$(date +%s)
since() { echo $(($(date +%s) - began)); }

: >"$work/said"
(clean make run PYTHON="$python" ARGS="--smtp-port 0 --http-port 0 --site-port 0") >"$work/said" 2>"$work/log" &
pid=$!
until grep -q "Webordinary is up" "$work/said"; do
    kill -0 "$pid" 2>/dev/null || { cat "$work/said" "$work/log"; echo "it did not come up" >&2; exit 1; }
    sleep 0.2
done
echo "up after $(since) s, installs included"

(clean .venv/bin/webordinary send --from scott@example.com "Change the homepage title to Spring Sale") >"$work/reply"
grep -q "has been changed" "$work/reply"
address=$(grep -o 'http://127.0.0.1:[0-9]*/amelia/' "$work/reply" | head -1)
"$python" -c 'import sys, urllib.request as u; sys.exit(b"<title>Spring Sale</title>" not in u.urlopen(sys.argv[1]).read())' "$address"
echo "a mail changed $address after $(since) s"

up=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["pid"])' \
    "$work/home/.local/share/webordinary/up.json")
kill -TERM "$up"
wait "$pid"
pid=
echo "stopped: $(tail -1 "$work/log")"

(clean make demo PYTHON="$python") >"$work/played" 2>&1 || { cat "$work/played"; echo "the demo failed" >&2; exit 1; }
echo "the demo saw all of its scenes, $(since) s after the start"
