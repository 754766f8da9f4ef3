"""How is the API described to programs?"""
