"""The figures of a report; each is a plugin of the entry points `harness.figures`.

`base` says what a figure is, `style` gives every variant its look, `layout` places panels, legend and
caption; the other files hold one figure each.
"""
