"""Files and folders that processes share: locks, stores of whole folders, digests, safe writing."""
