"""Fields that multimodal configs leave out of their language part because they equal the class default."""

CLASS_DEFAULTS: dict[str, dict[str, object]] = {}
