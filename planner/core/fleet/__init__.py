"""Procurement: from demand and objectives to what to buy, rent and run, and what that costs."""
