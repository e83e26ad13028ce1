"""`python -m warpdraft.app.cli`."""

import sys

from . import main

sys.exit(main())
