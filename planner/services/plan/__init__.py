"""The plan: one question about one deployment, answered from compiled configurations."""
