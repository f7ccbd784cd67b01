"""An example of a distribution that extends the harness: a target, a variant, and some that misbehave."""
