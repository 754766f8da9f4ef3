"""How are workflows run over a WebSocket?"""
