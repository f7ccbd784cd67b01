"""Software models of device intrinsics: C sources and a registry for each vendor."""
