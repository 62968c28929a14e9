"""Procurement: scenarios in people's units to the fleet core, and its plans to answers."""
