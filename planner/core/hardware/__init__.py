"""What a machine can do: chips, links, ceilings and efficiency curves."""
