"""One module a command; see planner/cli/main.py for the convention."""
