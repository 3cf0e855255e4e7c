"""The language models that a Host can run itself: which there are, and the cache of their weights."""
