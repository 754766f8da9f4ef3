"""What does each route do with a request?"""
