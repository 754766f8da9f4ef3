"""Parts of Spanwise in the process of the test: a client of an application, stores, and runs of components."""
