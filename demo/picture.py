"""Makes the picture of the demo for README.md: `make demo-picture`.

It runs the demo, records the terminal and writes one SVG that scrolls through it, without scripts,
fonts or other external resources. Readers who prefer reduced motion see the end.
"""

from rich.console import Console
from rich.terminal_theme import MONOKAI

from demo.__main__ import ROOT, tell_here

PICTURE = ROOT / "demo" / "demo.svg"
COLUMNS = 100
ROWS = 30
LINE = 24.4  # what rich puts between two lines
SECONDS_PER_LINE = 0.4

_SVG = """<svg class="rich-terminal" viewBox="0 0 {{width}} {view}" \
xmlns="http://www.w3.org/2000/svg" role="img">
<title>The demo: a cutover with dry-run, apply, verify, trouble, repair and the harness</title>
<style>
.{{unique_id}}-matrix {{{{ font-family: ui-monospace, Menlo, Consolas, monospace; \
font-size: {{char_height}}px; line-height: {{line_height}}px; }}}}
.scroll {{{{ transform: translateY(-{distance}px); animation: scroll {seconds}s infinite; }}}}
@keyframes scroll {{{{
  0%, 3% {{{{ transform: translateY(0); animation-timing-function: steps({steps}); }}}}
  93%, 100% {{{{ transform: translateY(-{distance}px); }}}}
}}}}
@media (prefers-reduced-motion: reduce) {{{{ .scroll {{{{ animation: none; }}}} }}}}
{{styles}}
</style>
<defs>
<clipPath id="{{unique_id}}-clip-terminal">\
<rect x="0" y="0" width="{{width}}" height="{inside}"/></clipPath>
<clipPath id="window"><rect x="0" y="0" width="{{width}}" height="{inside}"/></clipPath>
{{lines}}
</defs>
<rect width="{{width}}" height="{view}" rx="10" fill="#1e1e1e"/>
<circle cx="24" cy="20" r="6" fill="#ff5f57"/><circle cx="44" cy="20" r="6" fill="#febc2e"/>\
<circle cx="64" cy="20" r="6" fill="#28c840"/>
<g transform="translate(12, 44)" clip-path="url(#window)"><g class="scroll">
{{backgrounds}}
<g class="{{unique_id}}-matrix">
{{matrix}}
</g></g></g>
</svg>
"""


def main() -> None:
    console = Console(record=True, width=COLUMNS, force_terminal=True, legacy_windows=False)
    tell_here(console)
    lines = console.export_text(clear=False).count("\n")
    steps = max(lines - ROWS, 1)
    svg = _SVG.format(
        view=round(ROWS * LINE + 60),
        inside=round(ROWS * LINE),
        distance=round(steps * LINE),
        steps=steps,
        seconds=round(steps * SECONDS_PER_LINE),
    )
    console.save_svg(str(PICTURE), code_format=svg, theme=MONOKAI, unique_id="demo")
    console.print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
