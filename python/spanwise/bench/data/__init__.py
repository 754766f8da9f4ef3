"""The generated data sets: rows and OTLP documents drawn from a seed, and literals for queries over them."""
