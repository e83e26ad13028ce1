"""Stock work bodies, one folder for each target."""
