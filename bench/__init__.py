"""Side-by-side measurements: the plugin against pgbench, plain SQL and common alternatives.

`make bench` runs them all, `python -m bench --help` shows how to run some. Every figure is a ratio
within one run on one machine. A new measure is a function in its own module, listed in
`bench.catalog`.
"""
