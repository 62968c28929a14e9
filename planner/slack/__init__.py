"""The Slack app: capacity answers where the question is asked."""
