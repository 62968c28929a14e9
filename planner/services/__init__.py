"""Use cases over ports: they orchestrate the core and know no framework."""
