//! The forest of a trace's spans, flat in memory.
