"""Records the answers of a service to seeded requests, to compare two engines byte for byte."""
