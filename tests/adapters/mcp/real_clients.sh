#!/bin/sh
# Tests the MCP interface with clients of other makers: the inspector of the protocol, over a pipe
# and over HTTP, and its conformance suite. Needs npm and the network; Node 22 is installed with them.
#
#     tests/adapters/mcp/real_clients.sh [FOLDER]
#
# FOLDER holds the Node packages and the results; it is created (.tmp/clients if not given). PYTHON
# and MNEMIC name the interpreter and the command (.venv/bin/... if not given).
set -eu
cd "$(dirname "$0")/../../.."
folder=${1:-.tmp/clients}
python=${PYTHON:-.venv/bin/python}
mnemic=${MNEMIC:-.venv/bin/mnemic}
port=${PORT:-8398}
mkdir -p "$folder"
found=$(cd "$folder" && pwd)

echo "== Node 22, inspector 2.12.0 and conformance 0.2.0-alpha.12 in $folder"
npm install --prefix "$found" --no-fund --no-audit --loglevel=error node@22 \
  @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12
PATH="$found/node_modules/.bin:$PATH"
inspect() { mcp-inspector --cli "$@"; }

echo "== inspector over a pipe"
db="$found/pipe.db"
rm -f "$db"*
inspect "$mnemic" --db "$db" mcp --make --method tools/list > "$found/tools.json"
grep -q '"mnemic_recall"' "$found/tools.json"
inspect "$mnemic" --db "$db" mcp --method tools/call --tool-name mnemic_learn \
  --tool-arg content="Ines opens the gate at six." | grep -q '"action": "created"'
inspect "$mnemic" --db "$db" mcp --method tools/call --tool-name mnemic_recall \
  --tool-arg query="When does the gate open?" | grep -q "Ines opens the gate at six."
inspect "$mnemic" --db "$db" mcp --method resources/read --uri mnemic://status > /dev/null
inspect "$mnemic" --db "$db" mcp --method prompts/get \
  --prompt-name end_of_session_reflection > /dev/null

echo "== inspector over HTTP"
"$mnemic" --db "$db" serve --port "$port" --open-loopback --make --quiet > "$found/serve.log" 2>&1 &
server=$!
trap 'kill -TERM $server 2> /dev/null || true' EXIT
waited=0
until grep -q '^url' "$found/serve.log"; do
  waited=$((waited + 1))
  [ "$waited" -lt 60 ] || { cat "$found/serve.log"; exit 1; }
  sleep 0.5
done
inspect "http://127.0.0.1:$port/mcp" --transport http --method tools/list > /dev/null
inspect "http://127.0.0.1:$port/mcp/default" --transport http --method tools/call \
  --tool-name mnemic_look --tool-arg operation=status | grep -q '"space": "default"'
kill -TERM $server
wait $server

echo "== conformance"
"$python" -m tests.adapters.mcp.conformance_fixture "$port" > "$found/fixture.log" 2>&1 &
server=$!
sleep 8
for revision in 2025-11-25 2026-07-28; do
  conformance server --url "http://127.0.0.1:$port/mcp" --requirements "$revision" \
    > "$found/$revision.txt" 2>&1 || { sed -n '/=== SUMMARY/,$p' "$found/$revision.txt"; exit 1; }
  echo "-- $revision"
  sed -n '/^Total/p' "$found/$revision.txt"
  # Failures here are not scored; only the tasks extension, which is not offered, may fail.
  if grep '^✗' "$found/$revision.txt" | grep -v '^✗ tasks-'; then exit 1; fi
done
echo "== all clients get along"
