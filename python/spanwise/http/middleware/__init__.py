"""What happens around every request and response?"""
