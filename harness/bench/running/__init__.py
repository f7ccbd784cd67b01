"""The order of work: plan, build, check, time, resume; and bundles, which travel to other machines."""
