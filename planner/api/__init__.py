"""HTTP: the REST service."""
