"""Databases: SQLite and PostgreSQL behind the services' ports."""
