"""Who is calling, and what may they do? Plain values in and out; only `http` knows a request."""
