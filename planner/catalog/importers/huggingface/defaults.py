CLASS_DEFAULTS: dict[str, dict[str, object]] = {}
