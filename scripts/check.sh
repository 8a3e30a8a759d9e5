#!/usr/bin/env bash
# What no test runs: format, layers, sizes, headers, consumers. Every finding is one line.
set -u -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
mkdir -p build/log
bad=0
report() { echo "check: $1"; bad=$((bad + 1)); }

# Includes point down only.
layers="base ir lang passes emit driver server client kernels tools"
rank() { local n=0 l; for l in $layers; do n=$((n + 1)); [ "$l" = "$1" ] && echo $n && return; done; }
while IFS=: read -r file _ line; do
  from=$(echo "$file" | cut -d/ -f2)
  to=$(echo "$line" | sed -n 's/.*"\([a-z]*\)\/.*/\1/p')
  mine=$(rank "$from"); theirs=$(rank "$to")
  [ -z "$theirs" ] && continue
  [ "$theirs" -gt "$mine" ] && report "$file includes upwards: $line"
done < <(git grep -nE '^#include "(base|ir|lang|passes|emit|driver|server|client|kernels|tools)/' -- src)
while IFS=: read -r file _ line; do
  report "$file is public and includes something private: $line"
done < <(git grep -nE '^#include ("|<)' -- include | grep -vE '#include ("tessera/|<[a-z_]+>)')

# Sizes
while read -r lines file; do
  [ "$file" = total ] && continue
  [ "$lines" -gt 800 ] && report "$file has $lines lines; 800 is the limit."
done < <(git ls-files 'src/*.?pp' 'include/*.?pp' 'tests/*.?pp' 'bench/*.?pp' | xargs wc -l)

# Words and paths
while IFS= read -r hit; do report "unfinished, or a path of one machine: $hit"; done < <(
  git grep -nIE '\b(TODO|FIXME|XXX)\b|/(work|root|tmp)/' -- . ':!scripts/check.sh' ':!LICENSE-*' | head -20)

# Each public header alone, also without exceptions
for compiler in g++ clang++-19; do
  if ! command -v $compiler >/dev/null 2>&1; then
    echo "check: $compiler is not here; its header check is left out."
    continue
  fi
  git ls-files 'include/*.hpp' | xargs -P "$(nproc)" -I{} sh -c \
    "echo '#include \"{}\"' | sed 's|include/||' | $compiler -std=c++20 -fsyntax-only -fno-exceptions -Wall -Wextra -Wpedantic -Werror -Iinclude -x c++ - >/dev/null 2>&1 || echo {}" \
    > build/log/headers.log 2>&1
  while read -r header; do report "$header does not compile alone with $compiler -fno-exceptions."; done < build/log/headers.log
done

# Format
if command -v clang-format-19 >/dev/null 2>&1; then
  git ls-files '*.hpp' '*.cpp' | xargs -P "$(nproc)" -n 20 clang-format-19 --dry-run -Werror 2>&1 | sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error.*/\1/p' | sort -u > build/log/format.log
  while read -r file; do report "$file is not formatted (./dev format)."; done < build/log/format.log
else
  echo "check: clang-format-19 is not here; the format is not checked."
fi

# Consumers
if ! bash tests/consumer/run.sh > build/log/consumer.log 2>&1; then
  tail -20 build/log/consumer.log
  report "a consumer of the installed library does not build or run (build/log/consumer.log)."
fi

if [ $bad -gt 0 ]; then echo "check: $bad findings."; exit 1; fi
echo "check: nothing found."
