"""Lowers a document to a CuTe DSL kernel module."""
