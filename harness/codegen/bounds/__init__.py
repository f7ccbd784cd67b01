"""What bounds a loop of machine instructions: a model of one multiprocessor.  Nothing here is measured."""
