"""The rules of the verifier: one hazard a file."""
