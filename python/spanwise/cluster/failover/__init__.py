"""Shards that may fail: circuit breakers, hedged requests, and followers that answer instead."""
