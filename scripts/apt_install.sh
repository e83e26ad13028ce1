#!/bin/sh
# Install Debian packages without a question:  scripts/apt_install.sh PACKAGE...
# apt-get is quiet unless it fails; then its output is shown.
set -u
as_root=$(dirname "$0")/as_root.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() {
    "$as_root" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null
}

apt update || cat "$log" >&2 # a stale list may still do
apt install -y --no-install-recommends "$@" && exit 0
cat "$log" >&2
exit 1
