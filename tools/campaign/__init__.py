"""The campaign: what is tried against the package beyond its tests, in parts that record their figures."""
