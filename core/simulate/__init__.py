"""Predicted timelines and stepping of a document."""
