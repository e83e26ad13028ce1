#!/bin/sh
# Find, or install, the programs that pip does not bring:
#     scripts/setup_system.sh VENV graphviz [chromium]
# Each program gets one line that says what was chosen and why.  A missing program is no failure: the
# editor then says that it cannot draw the graph, and browser tests are skipped with this reason.
set -u

here=$(dirname "$0")
venv=$1
shift
say() { printf 'setup: %s\n' "$*" >&2; }

can_apt() { command -v apt-get >/dev/null 2>&1 && "$here/as_root.sh" true; }
why_no_apt() {
    if command -v apt-get >/dev/null 2>&1; then
        echo "no root and no sudo without a password"
    else
        echo "no apt-get here"
    fi
}

dot_starts() { command -v dot >/dev/null 2>&1 && dot -V >/dev/null 2>&1; }

setup_graphviz() {
    if dot_starts; then
        say "graphviz: $(command -v dot) (already installed)"
        return
    fi
    if [ -x "$venv/bin/graphviz-pure" ]; then
        say "graphviz: $venv/bin/graphviz-pure (installed earlier; there is no dot on the PATH)"
        return
    fi
    if can_apt; then
        if "$here/apt_install.sh" graphviz && dot_starts; then
            say "graphviz: $(command -v dot) (installed with apt-get)"
            return
        fi
        reason="apt-get brought no dot that starts"
    else
        reason="no dot on the PATH, $(why_no_apt)"
    fi
    if "$venv/bin/pip" install --quiet --editable '.[dot]' && "$venv/bin/graphviz-pure" -V >/dev/null 2>&1; then
        say "graphviz: $venv/bin/graphviz-pure (from PyPI: $reason)"
        return
    fi
    say "graphviz: NONE ($reason, and graphviz-pure from PyPI did not work either)." \
        "The dependency graph cannot be drawn; install Graphviz and have dot on the PATH."
}

playwright_install() {
    # A downloaded browser needs system libraries too; only root can bring those.
    if can_apt && "$venv/bin/playwright" install --with-deps chromium; then return; fi
    "$venv/bin/playwright" install chromium
}

setup_chromium() {
    found=$("$venv/bin/python" "$here/find_browser.py") && {
        say "chromium: $found (already installed)"
        return
    }
    if can_apt; then
        if "$here/apt_install.sh" chromium && found=$("$venv/bin/python" "$here/find_browser.py"); then
            say "chromium: $found (installed with apt-get)"
            return
        fi
        reason="apt-get brought no Chromium that starts"
    else
        reason="none found, $(why_no_apt)"
    fi
    log=$(mktemp)
    if playwright_install >"$log" 2>&1 </dev/null &&
        found=$("$venv/bin/python" "$here/find_browser.py"); then
        say "chromium: $found (downloaded by Playwright: $reason)"
    else
        say "chromium: NONE ($reason, and Playwright's download failed: $(grep -m1 -i error "$log" || tail -n 1 "$log"))." \
            "Browser tests will be skipped."
    fi
    rm -f "$log"
}

for program in "$@"; do
    case $program in
    graphviz) setup_graphviz ;;
    chromium) setup_chromium ;;
    *)
        say "unknown program: $program"
        exit 2
        ;;
    esac
done
