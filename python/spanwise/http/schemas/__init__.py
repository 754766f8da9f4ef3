"""Which shapes do the requests and responses of hosted components, runs and sessions have?"""
