#!/bin/sh
# Make a virtual environment:  scripts/make_venv.sh FOLDER
# PYTHON=... picks the interpreter; otherwise the first Python 3.11 or newer on the PATH is taken.
set -eu

folder=$1
say() { printf 'setup: %s\n' "$*" >&2; }
is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

python=
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if is_new_enough "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    say "no Python 3.11 or newer found (looked for: ${PYTHON:-python3, python3.14 to python3.11, python})."
    say "install one, or name it: make PYTHON=/path/to/python3.11"
    exit 1
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# Debian and Ubuntu ship Python without the parts that make environments.
if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    package=python$version-venv
    here=$(dirname "$0")
    if command -v apt-get >/dev/null 2>&1 && "$here/as_root.sh" true; then
        say "Python $version cannot make environments; installing $package with apt-get"
        "$here/apt_install.sh" "$package" || say "apt-get could not install $package"
    fi
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        say "Python $version here has no venv module. Install it first:"
        say "  Debian, Ubuntu: sudo apt-get install $package"
        say "  elsewhere: a Python from python.org, conda or uv has it; then make PYTHON=/path/to/python"
        exit 1
    fi
fi

say "making $folder with Python $version ($(command -v "$python"))"
"$python" -m venv --clear "$folder"
