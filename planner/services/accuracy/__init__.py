"""Accuracy over REST: measured files read with care, scored, learnt from, and the published report."""
