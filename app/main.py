"""What ``panel serve app`` runs: the editor on the documents under the working directory."""

import panel as pn

from warpdraft.app.server import editor, folder_of

pn.extension()
editor(folder_of(None)).servable(title="warpdraft")
