"""How does a run become a trace?"""
