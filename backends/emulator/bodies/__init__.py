"""NumPy twins of the stock work bodies."""
