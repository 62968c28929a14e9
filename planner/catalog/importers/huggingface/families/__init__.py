"""One reader per family group: config fields in, layers out."""
