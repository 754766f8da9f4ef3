"""What can be run: agents, teams, workflows, and adapters for those of other frameworks. Not built yet."""
