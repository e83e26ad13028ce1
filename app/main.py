"""What ``panel serve app`` runs: the editor on an example, with the documents under the working directory to choose from.

WARPDRAFT_OPEN names another document; then what lies in its folder may be opened.
"""

import os
from pathlib import Path

import panel as pn

from warpdraft.app.server import editor, folder_of

pn.extension()
named = os.environ.get("WARPDRAFT_OPEN")
editor(folder_of(Path(named) if named else None)).servable(title="warpdraft")
