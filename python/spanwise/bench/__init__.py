"""How fast is it, beside the engines people would use instead? Everything here needs the extra `bench`."""
