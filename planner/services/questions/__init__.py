"""Questions that were understood become requests, and their answers become sentences and figures."""
