"""How do values and errors become the bytes of a response?"""
