"""How do values, events and errors become the bytes of a response?"""
