"""The web app: files served at the root."""
