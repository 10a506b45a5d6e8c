#!/usr/bin/env bash
# Makes .venv from the lock, and a Java where the machine has none. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

UV_VERSION=0.13.7

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3 python; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Neve needs Python 3.11 or newer: install it, or set PYTHON to one." >&2
  exit 1
}

python=$(find_python)
echo "Setting up .venv with $("$python" --version) (a minute or two the first time) …"
if command -v uv >/dev/null 2>&1; then
  uv=uv
  [ -x .venv/bin/python ] || uv venv --quiet --python "$python" .venv
else
  [ -x .venv/bin/pip ] || "$python" -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
  uv=.venv/bin/uv
fi
"$uv" pip install --quiet --python .venv/bin/python --require-hashes -r requirements.lock
"$uv" pip install --quiet --python .venv/bin/python --no-deps --editable .
# Python reads this file in the language of the terminal, which may not know the letters of the path.
for found in .venv/lib/python3*/site-packages/*_neve.pth; do
  if [ -e "$found" ]; then echo ../../../../src >"$found"; fi
done
if ! .venv/bin/python -m neve.spark.java; then
  echo "No Java 17 or 21 here: installing one into .venv …"
  "$uv" pip install --quiet --python .venv/bin/python --require-hashes -r requirements-java.lock
fi
touch .venv/.ready
