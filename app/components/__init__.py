"""Small browser components; their bundles are in assets."""
