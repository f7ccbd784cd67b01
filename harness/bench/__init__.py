"""How cases become rows: plan, build, check, time, resume, compare."""
