//! Objects, write-ahead, head, segments: where does a trace live, and what survives a crash?
