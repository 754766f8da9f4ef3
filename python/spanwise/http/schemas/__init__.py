"""Which shapes do requests and responses of hosted components have?"""
