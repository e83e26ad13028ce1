#!/bin/sh
# Run a command as root, if that needs no password; fail quietly otherwise.
if [ "$(id -u)" = 0 ]; then
    exec "$@"
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    exec sudo -n "$@"
fi
exit 1
