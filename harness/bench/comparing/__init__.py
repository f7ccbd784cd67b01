"""Two runs of the same cases, case by case: what has become right or wrong, faster or slower."""
