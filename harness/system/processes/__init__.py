"""Process trees: a guardian that ends them as a whole, and programs that are run with a time limit."""
