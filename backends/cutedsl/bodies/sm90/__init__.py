"""Stock work bodies for Hopper."""
