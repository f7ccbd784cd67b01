"""What is right: the float64 reference, the tolerance, and proof that the rule is not vacuous."""
