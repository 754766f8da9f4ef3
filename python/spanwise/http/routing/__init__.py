"""Which handler serves which path, and who may call it?"""
