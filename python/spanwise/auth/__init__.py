"""Who is calling, and what may they do? Not built yet."""
