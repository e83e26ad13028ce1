"""The public face of the framework."""
