"""What happens between a request to run a component and its result? Not built yet."""
