"""The bodies of works, read and not run: what they do besides computing, and a draft of the annotations."""
