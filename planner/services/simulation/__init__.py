"""Simulations: a load played through replicas of a plan's deployment, request by request."""
