"""One router per resource or question."""
