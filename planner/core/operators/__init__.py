"""What a step does: work and traffic of every operator, lowered once from architecture, layout and formats."""
