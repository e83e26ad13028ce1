"""Documents as source for Task Scheduling, with what only annotations say."""
