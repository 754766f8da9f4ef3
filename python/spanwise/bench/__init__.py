"""The benchmark of Spanwise against DuckDB, Polars and DataFusion. It needs the extra `bench`."""
