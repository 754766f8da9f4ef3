"""How do the bytes of a request become typed values?"""
