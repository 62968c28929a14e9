"""Sizing: which deployment carries a demand under an objective, and how many of them it takes."""
