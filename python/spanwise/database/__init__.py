"""What was said and run: sessions, runs and their events. Not built yet."""
