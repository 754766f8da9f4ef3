//! Pages of runs, of sessions: how does a filter become a page?
