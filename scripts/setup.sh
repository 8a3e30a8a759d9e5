#!/usr/bin/env bash
# Brings what the project builds and runs with: Debian's packages by apt, everything else into the
# git-ignored folder .deps. Idempotent, and quick when nothing changed. An optional part that
# cannot be had disables its driver with a sentence and fails nothing; the stamp keeps the sentence,
# which is repeated by every run until `setup.sh --retry` (./dev setup) gets the part.
set -u -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
deps="$root/.deps"
log="$root/build/log/setup.log"
. "$root/scripts/versions.env"

# The folder counts, since the driver manifests name it: a checkout that moved is set up again.
stamp="$deps/stamp-$( (cat "$root/scripts/versions.env" "$root/scripts/setup.sh"; echo "$root") | sha256sum | cut -c1-16)"
if [ -f "$stamp" ]; then
  [ -s "$stamp" ] || exit 0
  if [ "${1:-}" != --retry ]; then
    cat "$stamp" >&2
    echo "setup: ./dev setup tries again to get what is missing." >&2
    exit 0
  fi
fi

if [ "$(uname -s)" != Linux ] || [ "$(uname -m)" != x86_64 ]; then
  echo "setup: this is $(uname -s) on $(uname -m); the packages are for Linux on x86_64." >&2
  exit 1
fi
mkdir -p "$deps" "$(dirname "$log")" || { echo "setup: cannot write to $root." >&2; exit 1; }
: > "$log"
free_kib=$(df -Pk "$root" | awk 'NR==2 {print $4}')
if [ "$free_kib" -lt 2097152 ]; then
  echo "setup: $((free_kib / 1024)) MiB are free in $root; 2048 MiB are needed." >&2
  exit 1
fi

started=$SECONDS
say() { printf 'setup: %-58s %4d s\n' "$1" $((SECONDS - started)); }
skipped=""
skip() { echo "setup: $1" >&2; skipped+="setup: $1"$'\n'; }
# Never half a file under the final name.
place() {
  mkdir -p "$(dirname "$2")" && cp "$1" "$2.part" && mv "$2.part" "$2" && return
  rm -f "$2.part"
  echo "setup: $2 could not be written (is the disk full?)." >&2
  exit 1
}
as_root() {
  if [ "$(id -u)" = 0 ]; then DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null 2>&1; then sudo DEBIAN_FRONTEND=noninteractive "$@"
  else return 127; fi
}
have() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
missing() { for p in "$@"; do have "$p" || printf '%s ' "$p"; done; }

# Packages of the distribution
if ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: there is no apt-get here; install by hand: $APT_PACKAGES" >&2
  exit 1
fi
updated=no
apt_install() {
  if [ $updated = no ]; then
    as_root apt-get update >>"$log" 2>&1
    updated=yes
  fi
  as_root apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1
}
need=$(missing $APT_PACKAGES)
if [ -n "$need" ]; then
  say "installing: $(echo "$need" | wc -w) packages"
  if ! as_root true; then
    echo "setup: root rights or sudo are needed once, to install: $need" >&2
    exit 1
  fi
  if ! apt_install $need; then
    tail -5 "$log" >&2
    echo "setup: apt-get could not install: $need(is the network there?). Log: $log" >&2
    exit 1
  fi
fi
for p in $APT_OPTIONAL; do
  have "$p" || apt_install "$p" || skip "$p is not to be had here: the check that uses it is left out."
done
say "packages of the distribution"

# The WebGPU library
library="$deps/webgpu/libwebgpu_wrapper.so"
sha_of() { sha256sum "$1" 2>/dev/null | cut -d' ' -f1; }
if [ "$(sha_of "$library")" != "$WEBGPU_SHA256" ]; then
  command -v npm >/dev/null 2>&1 || apt_install npm || skip "npm is not to be had here."
  work=$(mktemp -d)
  if (cd "$work" && npm install --ignore-scripts --no-save --no-audit --no-fund --prefix . \
      "$WEBGPU_PACKAGE@$WEBGPU_VERSION" >>"$log" 2>&1); then
    found="$work/node_modules/$WEBGPU_PACKAGE/libwebgpu_wrapper.so"
    if [ "$(sha_of "$found")" = "$WEBGPU_SHA256" ]; then
      place "$found" "$library"
    else
      skip "the WebGPU library of $WEBGPU_PACKAGE@$WEBGPU_VERSION has another checksum than the pinned one; it is not used."
    fi
  else
    skip "the WebGPU library could not be fetched; there will be no WebGPU devices. Log: $log"
  fi
  rm -rf "$work"
fi
say "WebGPU library"

# Software Vulkan drivers: two, so that two implementations can be held against each other
icd="$deps/vulkan/icd.d"
mkdir -p "$icd"
manifest() { # name, library
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' "$2" > "$icd/$1.json"
}
loads() { ldd "$1" >/dev/null 2>&1 && ! ldd "$1" | grep -q 'not found'; }

mesa_major=$(apt-cache policy mesa-vulkan-drivers 2>/dev/null | sed -n 's/ *Candidate: \([0-9]*\)\..*/\1/p')
lvp="$deps/vulkan/mesa/libvulkan_lvp.so"
if [ ! -f "$lvp" ]; then
  work=$(mktemp -d) && mkdir -p "$work/lists/partial" "$work/debs"
  options=""
  if [ "${mesa_major:-0}" -lt "$MESA_LEAST_MAJOR" ]; then
    mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
      awk -v suite="${MESA_SUITE%-backports}" '$1 == suite && !found { print $2; found = 1 }')
    echo "deb $mirror $MESA_SUITE main" > "$work/suite.list"
    options="-o Dir::Etc::SourceList=$work/suite.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$work/lists"
    apt-get $options update >>"$log" 2>&1
  fi
  if (cd "$work/debs" && apt-get $options download mesa-vulkan-drivers >>"$log" 2>&1 && dpkg -x mesa-vulkan-drivers_*.deb "$work/mesa"); then
    # Its libraries, as far as the distribution has them; whether they do is seen by loading it.
    needs=$(dpkg-deb -f "$work"/debs/mesa-vulkan-drivers_*.deb Depends | tr ',|' '\n\n' | awk '{print $1}' | sort -u)
    for p in $(missing $needs); do apt_install "$p" || true; done
    place "$(find "$work/mesa" -name libvulkan_lvp.so | head -1)" "$lvp"
  else
    skip "Mesa's software Vulkan driver could not be fetched. Log: $log"
  fi
  rm -rf "$work"
fi
if [ -f "$lvp" ] && loads "$lvp"; then manifest lvp_icd "$lvp"
elif [ -f "$lvp" ]; then skip "Mesa's software Vulkan driver is not usable here: $(ldd "$lvp" 2>/dev/null | grep 'not found' | tr -s ' \t\n' ' ')"; fi
say "software Vulkan driver of Mesa"

swift="$deps/vulkan/swiftshader/libvk_swiftshader.so"
if [ ! -f "$swift" ]; then
  work=$(mktemp -d)
  if (cd "$work" && apt-get download chromium-common >>"$log" 2>&1 && dpkg --fsys-tarfile chromium-common_*.deb | tar -x --wildcards '*libvk_swiftshader.so'); then
    place "$(find "$work" -name libvk_swiftshader.so | head -1)" "$swift"
  else
    if apt-cache show chromium-common 2>/dev/null | grep -q '^Package:'; then
      skip "SwiftShader (of the package chromium-common) could not be fetched. Log: $log"
    else
      skip "SwiftShader is left out: this distribution has no package chromium-common."
    fi
  fi
  rm -rf "$work"
fi
if [ -f "$swift" ] && loads "$swift"; then manifest vk_swiftshader_icd "$swift"
elif [ -f "$swift" ]; then skip "SwiftShader is not usable here."; fi
say "software Vulkan driver SwiftShader"

rm -f "$deps"/stamp-*
printf '%s' "$skipped" > "$stamp"
