#include "study/report_style.h"

namespace assay::study {

std::string_view report_style() {
  return R"css(:root {
  --page: #fcfcfa; --ink: #1d2126; --soft: #59626c; --rule: #dcdfe2; --panel: #f2f3f1;
  --accent: #2a62b8; --second: #b4560f; --third: #6a4aa5; --good: #17713f; --bad: #a5322a;
  --bar: #8fa3bd; --faint: #c4cbd3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181c; --ink: #e7e9ec; --soft: #a0a9b3; --rule: #30363d; --panel: #1d2127;
    --accent: #86b4ff; --second: #f2a65e; --third: #bda4f0; --good: #6fcb9a; --bad: #f2938b;
    --bar: #5d7393; --faint: #475160;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0 auto; max-width: 1100px; padding: 2.5rem 1.25rem 5rem; background: var(--page);
  color: var(--ink); font: 1.0625rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  "DejaVu Sans", sans-serif; overflow-wrap: break-word;
}
p, li, dd { max-width: 70ch; }
h1 { font-size: clamp(1.75rem, 1.2rem + 2.4vw, 2.75rem); line-height: 1.15; margin: .2rem 0 .8rem;
  letter-spacing: -.015em; text-wrap: balance; }
h2 { font-size: 1.6rem; line-height: 1.25; margin: 3.5rem 0 .8rem; padding-top: 1.2rem;
  border-top: 1px solid var(--rule); letter-spacing: -.01em; }
h3 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h4 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
a { color: var(--accent); }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .92em; overflow-wrap: anywhere; }
tbody th code { overflow-wrap: break-word; }
small { color: var(--soft); font-size: .8rem; }
ul { padding-left: 1.2rem; }
li { margin: .3rem 0; }
pre { overflow-x: auto; background: var(--panel); padding: 1rem; border-radius: 6px;
  font-size: .85rem; }
.kicker { margin: 0; color: var(--soft); font-size: .82rem; letter-spacing: .09em;
  text-transform: uppercase; }
.question { font-size: 1.25rem; line-height: 1.45; margin: 0 0 1rem; }
.made { color: var(--soft); font-size: .92rem; margin: 0 0 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; font-size: .95rem; }
nav a { padding: .25rem 0; min-width: 0; overflow-wrap: anywhere; }
.cards { list-style: none; padding: 0; display: grid; gap: .9rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); }
.cards > li { margin: 0; padding: .9rem 1rem 1rem; background: var(--panel); border-radius: 8px;
  border-left: 4px solid var(--good); max-width: none; min-width: 0; }
.cards .verdict { display: block; font-weight: 650; font-size: .9rem; color: var(--good); }
.cards > li > code { font-size: 1.08rem; font-weight: 600; }
.cards dl { margin: .5rem 0 0; }
.cards dl div { display: flex; justify-content: space-between; gap: 1rem;
  border-bottom: 1px solid var(--rule); padding: .15rem 0; }
.cards dt { color: var(--soft); font-size: .9rem; }
.cards dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; white-space: nowrap; }
.cards p { margin: .6rem 0 0; font-size: .88rem; line-height: 1.45; color: var(--soft); }
.words { display: grid; gap: .2rem 2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); margin: 0; }
.words dt { font-weight: 650; margin-top: .6rem; }
.words dd { margin: 0; font-size: .97rem; }
.scroll { overflow-x: auto; margin: 0 0 1.6rem; }
.scroll:focus-visible, summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent);
  outline-offset: 2px; }
table { border-collapse: collapse; font-size: .92rem; line-height: 1.35; min-width: 100%; }
.caption { color: var(--soft); font-size: .88rem; margin: 1rem 0 .3rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .9rem .45rem 0;
  border-bottom: 1px solid var(--rule); }
thead th { font-weight: 600; font-size: .84rem; color: var(--soft); vertical-align: bottom; }
tbody th { font-weight: 400; position: sticky; left: 0; background: var(--page); max-width: 14rem; }
td { max-width: 26rem; }
td.w { min-width: 15rem; }
td .no, td .plain { margin: 0; white-space: nowrap; }
.decisions { font-size: 1.1rem; }
tbody th { min-width: 6.5rem; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td small { display: block; white-space: nowrap; }
details { border: 1px solid var(--rule); border-radius: 8px; margin: .7rem 0; padding: 0 1rem; }
details[open] { padding-bottom: 1rem; }
summary { cursor: pointer; padding: .7rem 0; font-weight: 600; }
details details { border-style: dashed; }
.yes { color: var(--good); margin-left: .6rem; font-size: .9rem; }
.plain { color: var(--soft); margin-left: .6rem; font-size: .9rem; font-weight: 400; }
.no { color: var(--bad); margin-left: .6rem; font-size: .9rem; }
.tag { display: inline-block; font-size: .75rem; letter-spacing: .04em; border: 1px solid var(--second);
  color: var(--second); border-radius: 4px; padding: 0 .4rem; }
.images { list-style: none; padding: 0; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); }
.images li { display: flex; flex-direction: column; font-size: .9rem; line-height: 1.35; margin: 0;
  min-width: 0; }
.images img, .nopicture { width: 72px; height: 72px; image-rendering: pixelated; border-radius: 4px;
  background: var(--panel); margin-bottom: .35rem; object-fit: contain; }
.nopicture { display: grid; place-items: center; color: var(--soft); }
.charts { display: grid; gap: 2.2rem 2.6rem; margin: 1.6rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.chart { margin: 0; min-width: 0; }
.chart figcaption { font-size: .88rem; line-height: 1.45; color: var(--soft); margin-bottom: .7rem; }
.chart figcaption strong { display: block; color: var(--ink); font-size: 1rem; }
.chart svg { overflow: visible; display: block; }
.chart text { font-size: 13px; fill: var(--ink); font-variant-numeric: tabular-nums; }
.chart .tick { font-size: 12px; fill: var(--soft); }
.chart .value { font-weight: 600; }
.grid { stroke: var(--rule); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.equal { stroke: var(--soft); stroke-dasharray: 2 4; }
.limit { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 6 4; }
.whisker { stroke: var(--ink); stroke-width: 1.5; }
.bar { fill: var(--bar); }
.bar.good { fill: var(--good); }
.box { fill: var(--bar); fill-opacity: .55; stroke: var(--soft); }
.median { stroke: var(--ink); stroke-width: 2.5; }
.sample { fill: var(--accent); fill-opacity: .55; }
.column { fill: var(--faint); }
.column.high { fill: var(--second); }
.dot { fill: var(--accent); stroke: var(--page); stroke-width: 1; }
.dot.good { fill: var(--good); }
.dot.open { fill: var(--page); stroke: var(--bad); stroke-width: 2; }
.dot.s1 { fill: var(--second); }
.dot.s2 { fill: var(--third); }
.dot.s3 { fill: var(--good); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0;
  margin: .5rem 0 0; font-size: .88rem; }
.legend li { display: flex; align-items: center; gap: .35rem; margin: 0; }
@media (max-width: 34rem) {
  body { padding: 1.5rem 1rem 4rem; font-size: 1rem; }
  h2 { margin-top: 2.6rem; font-size: 1.4rem; }
  details { padding: 0 .7rem; }
  tbody th { max-width: 9rem; }
  th, td { padding-right: .7rem; }
}
@media print { .scroll { overflow: visible; } }
)css";
}

}  // namespace assay::study
