"""Files and folders that several processes share: locks, folders that are whole or not there, safe writing."""
