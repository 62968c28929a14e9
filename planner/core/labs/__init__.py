"""The labs: small exact models of kernels under the same ceilings the planner uses."""
