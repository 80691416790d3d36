#!/bin/sh
# reference.sh PELT: docs/reference.md is what the program says of itself.
page=$(dirname "$0")/../docs/reference.md
"$1" help --markdown | diff "$page" - && exit 0
echo "docs/reference.md is not what the program says: build/pelt help --markdown > docs/reference.md"
exit 1
