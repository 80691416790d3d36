#!/bin/sh
# python.sh TEST: runs test/python/TEST.py where a python3 with numpy is installed; "types" checks the annotations with mypy.
cd "$(dirname "$0")/python" || exit 1
for python in python3 /usr/bin/python3; do
  if command -v $python > /dev/null && $python -c 'import numpy' 2> /dev/null; then
    if [ "$1" = types ]; then
      $python -c 'import mypy' 2> /dev/null || continue
      cd ../../python && exec $python -m mypy --cache-dir=/dev/null --strict pelt backend.py
    fi
    export PYTHONDONTWRITEBYTECODE=1
    exec $python "$1.py"
  fi
done
echo "skipped: no python3 with $([ "$1" = types ] && echo mypy || echo numpy)"
exit 77
