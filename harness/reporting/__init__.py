"""Tables, figures and reports from results; nothing here runs anything."""
