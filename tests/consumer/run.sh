#!/usr/bin/env bash
# The library as others use it: installed and found, and as a folder of their project.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$root/build/release" --prefix "$work/prefix" > /dev/null
for way in find_package add_subdirectory; do
  cmake -G Ninja -S "$root/tests/consumer" -B "$work/$way" -DWAY=$way -DTESSERA_SOURCE="$root" \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release
  ninja -C "$work/$way" consumer
  find "$work/$way" -name consumer -type f -perm -u+x -exec {} \;
done
