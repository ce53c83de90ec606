"""The looks of the page: one sheet, light and dark, from 400 pixels up. Colours are named by what they mean."""

from __future__ import annotations

SERIES = 6
"""How many lines of one chart have a colour of their own."""

STYLE = """
:root { color-scheme: light dark; --bg: #f7f7f5; --card: #ffffff; --ink: #1d2125; --soft: #5b6570; --line: #dcdfe3;
  --work: #3b7dd8; --wait: #d7622a; --fault: #c4303c; --hint: #a86b10; --note: #2b7f53; --blame: #e2573f;
  --s0: #3b7dd8; --s1: #d7622a; --s2: #2b8a5a; --s3: #8558c9; --s4: #a86b10; --s5: #1f9aa5; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171a; --card: #1d2227; --ink: #e7eaed; --soft: #9ba6b1;
  --line: #353d45; --work: #6aa5f2; --wait: #f0874f; --fault: #f0707a; --hint: #e0ab54; --note: #62c493;
  --blame: #d8503a; --s0: #6aa5f2; --s1: #f0874f; --s2: #62c493; --s3: #b48ff0; --s4: #e0ab54; --s5: #55c6d0; } }
* { box-sizing: border-box; }
body { margin: 0; overflow-wrap: anywhere;
  background: var(--bg); color: var(--ink); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 78rem; margin: 0 auto; padding: 1.25rem 1rem 3rem; }
h1 { font-size: 1.3rem; line-height: 1.4; margin: .5rem 0; font-weight: 600; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 .6rem; }
p { margin: .4rem 0; } code { font: .9em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.soft { color: var(--soft); } .small { font-size: .86rem; }
.pill { display: inline-block; padding: .1rem .6rem; border-radius: 1rem; color: var(--card); background: var(--soft);
  font-size: .85rem; font-weight: 600; }
.input-bound, .fault { background: var(--fault); } .hint { background: var(--hint); }
.compute-bound, .balanced, .note { background: var(--note); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1rem;
  margin: 0 0 .8rem; min-width: 0; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: .8rem; }
.two > .card { margin: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .6rem; margin: 1rem 0 0; }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .8rem; }
.figures dt { color: var(--soft); font-size: .82rem; }
.figures dd { margin: 0; font-size: 1.2rem; font-weight: 600; overflow-wrap: anywhere; }
.finding h3 { margin: .3rem 0; font-size: 1rem; } .finding ul { margin: .4rem 0; padding-left: 1.2rem; }
.finding li { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: right; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child, .words { text-align: left; white-space: normal; overflow-wrap: anywhere;
  min-width: 9rem; }
th { color: var(--soft); font-weight: 500; } .scroll + .scroll { margin-top: 1rem; }
@media (max-width: 560px) { .wide { display: none; } th:first-child, td:first-child, .words { min-width: 8rem; } }
.bar { display: block; height: .4rem; border-radius: .2rem; background: var(--work); margin-top: .2rem; }
.bar.over { background: var(--wait); }
figure { margin: 0 0 1.2rem; } figure:last-child { margin-bottom: 0; }
figcaption { font-weight: 600; font-size: .92rem; margin-bottom: .5rem; }
.legend { font-weight: 400; color: var(--soft); font-size: .82rem; } .legend span { white-space: nowrap;
  margin-left: .8rem; }
.legend i { display: inline-block; width: .8rem; height: .5rem; border-radius: .15rem; margin-right: .3rem; }
.plot { display: grid; grid-template-columns: auto 1fr; column-gap: .5rem; font-size: .75rem; color: var(--soft); }
.plot svg { width: 100%; height: 9rem; display: block; overflow: visible; }
.plot .y { display: flex; flex-direction: column; justify-content: space-between; text-align: right; line-height: 1;
  margin: -.4em 0; }
.plot .x { grid-column: 2; display: flex; justify-content: space-between; margin-top: .3rem; }
.grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.line { fill: none; stroke-width: 1.6; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.lanes { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr; gap: .35rem .7rem; font-size: .82rem;
  align-items: center; }
.lanes > div { overflow-wrap: anywhere; }
.lane { display: flex; height: 1.1rem; background: color-mix(in srgb, var(--line) 45%, transparent);
  border-radius: .2rem; overflow: hidden; }
.lane b { display: block; }
.graph text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); } .graph .sub { fill: var(--soft);
  font-size: 11px; }
.graph .edge { fill: none; stroke: var(--soft); stroke-width: 1.3; } .graph .box { stroke: var(--line); }
.graph svg { display: block; margin: 0 auto; }
"""
