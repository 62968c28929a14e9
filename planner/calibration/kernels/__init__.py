"""The kernels that are timed, each checked against a float64 reference first."""
