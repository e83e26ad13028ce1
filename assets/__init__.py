"""Files that the editor serves, and example documents."""
