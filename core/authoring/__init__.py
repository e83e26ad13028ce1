"""Schedules written as Python, captured to a document."""
