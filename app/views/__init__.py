"""The editor's views: each draws one aspect of the document."""
