"""Edited documents applied to the scripts that they were imported from."""
