"""Side-by-side measurements: the plugin against pgbench, plain SQL and what others would pick.

`make bench` runs them all, `python -m bench --help` tells how to run some. Every figure is a
ratio within one run on one machine. A new measure is a function in a module of its own, listed in
`bench.catalog`.
"""
