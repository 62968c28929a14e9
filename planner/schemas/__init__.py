"""Request and answer types, shared by the API and the client; nothing but pydantic."""
