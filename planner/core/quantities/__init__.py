"""Units, arrays and formatting: the only place where a power of ten or two is written."""
