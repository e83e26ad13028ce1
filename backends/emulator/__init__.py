"""Runs a document on the CPU."""
