"""Which routes are there, and what does each need?"""
