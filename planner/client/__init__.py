"""A typed Python client of the service: `from planner.client import Client`."""

from planner.client.client import Client
from planner.client.errors import Refused
from planner.client.jobs import Event, Jobs
from planner.client.resources import Entry, Resources

__all__ = ["Client", "Entry", "Event", "Jobs", "Refused", "Resources"]
