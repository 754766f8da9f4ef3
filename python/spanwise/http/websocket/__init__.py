"""How are workflows driven over a WebSocket?"""
