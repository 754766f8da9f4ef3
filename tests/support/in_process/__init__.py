"""Parts of Spanwise in the process of the test: an application client, stores, and component runs."""
