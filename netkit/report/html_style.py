"""The look of a report page: system fonts, tabular figures, two colour schemes, and print.

Colour is never alone: every tint has its number, blame is an outline and a mark, absence is a hatch.
"""

STYLE = """
:root{color-scheme:light dark;
--bg:#f7f7f5;--card:#fff;--ink:#1a1c1f;--soft:#5b616a;--line:#deded9;--focus:#2a5db0;
--bad:#a3281a;--bad-bg:#fbeeea;--good:#17633f;--good-bg:#ebf4ee;--warn:#775300;--warn-bg:#faf2df;
--h0:#edf1ee;--h1:#f7e7c4;--h2:#f3cd94;--h3:#eba877;--h4:#df7f5f;--hatch:#b9bab4;--grid:#fff}
@media (prefers-color-scheme:dark){:root{
--bg:#131416;--card:#1a1c1f;--ink:#e6e6e2;--soft:#9ca2ab;--line:#2e3136;--focus:#8ab4f8;
--bad:#ff9482;--bad-bg:#2b1a17;--good:#82cfa6;--good-bg:#17241d;--warn:#e6bf70;--warn-bg:#282114;
--h0:#23292a;--h1:#40371f;--h2:#5a4520;--h3:#764522;--h4:#93402a;--hatch:#565a61;--grid:#1a1c1f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1080px;margin:0 auto;padding:32px 24px 64px}
h1,h2,h3,p,ol,ul,dl{margin:0}
h1{font-size:30px;line-height:1.22;font-weight:650;letter-spacing:-.012em;text-wrap:balance}
h2{font-size:18px;line-height:1.3;font-weight:650;margin-bottom:4px}
h3{font-size:15px;font-weight:650}
section{margin-top:44px}
.lead{color:var(--soft);max-width:72ch;margin-bottom:14px}
h1,h2,h3,p,li,dd,summary,.name{overflow-wrap:anywhere}
.name,th,td,li,p,h1,h3,dd{unicode-bidi:isolate}
code,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;
font-size:.92em}
:focus-visible{outline:2px solid var(--focus);outline-offset:2px;border-radius:3px}

.banner{background:var(--card);border:1px solid var(--line);border-left:6px solid var(--tone);border-radius:8px;
padding:24px 28px 22px}
.slow{--tone:var(--bad);--tint:var(--bad-bg)}.healthy{--tone:var(--good);--tint:var(--good-bg)}
.inconclusive{--tone:var(--warn);--tint:var(--warn-bg)}
.word{display:inline-flex;align-items:center;gap:8px;color:var(--tone);background:var(--tint);font-weight:700;
font-size:13px;letter-spacing:.06em;text-transform:uppercase;padding:3px 10px;border-radius:4px}
.labels{display:flex;flex-wrap:wrap;align-items:center;gap:8px;margin-bottom:12px}
.word svg{width:12px;height:12px;fill:currentColor;flex:none}
.tag{display:inline-block;border:1.5px solid var(--warn);color:var(--warn);font-weight:700;font-size:13px;
letter-spacing:.06em;padding:1.5px 9px;border-radius:4px}
.banner .why{margin-top:10px;max-width:76ch;color:var(--soft)}
.banner .warn{margin-top:10px;color:var(--warn)}
.facts{display:flex;flex-wrap:wrap;gap:14px 36px;margin-top:20px;padding-top:16px;border-top:1px solid var(--line)}
.facts dt{color:var(--soft);font-size:13px}
.facts dd{margin:0;font-weight:600;font-size:17px}

.finding{background:var(--card);border:1px solid var(--line);border-radius:8px;margin-top:12px}
.finding>summary{display:flex;align-items:baseline;gap:12px;padding:14px 20px}
.finding>summary .amount{margin-left:auto;color:var(--bad);font-weight:650;white-space:nowrap}
.finding>div{padding:0 20px 18px;display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:16px 36px}
.finding>div>p{grid-column:1/-1;max-width:76ch}
.finding h4{margin:0 0 4px;font-size:13px;font-weight:600;color:var(--soft)}
.finding ol,.finding ul{padding-left:20px}
.finding li{margin-top:4px}
.sev{font-size:12px;font-weight:600;color:var(--soft);border:1px solid var(--line);border-radius:4px;padding:0 6px}
details>summary{cursor:pointer;font-weight:600;padding:9px 0}
details>summary::marker{color:var(--soft)}
.calm{color:var(--soft)}

.scroll{overflow:auto;max-width:100%}
.tall{max-height:560px;border:1px solid var(--line);border-radius:6px;background:var(--card)}
.tall thead th{position:sticky;top:0;background:var(--card);z-index:1}
table{border-collapse:collapse}
th{font-weight:600;text-align:left;color:var(--soft);font-size:13px}
th,td{padding:4px 12px;white-space:nowrap}
.data td,.data th{border-bottom:1px solid var(--line)}
.data tbody tr:hover{background:var(--h0)}
.data{width:100%}.data td:last-child{width:100%}
.key+details{margin-top:12px}
.data .why{white-space:normal;min-width:22ch}
.r{text-align:right}
.low{font-weight:700;color:var(--bad)}
.bar{position:relative;width:100%;min-width:120px;height:16px;background:var(--h0);border-radius:2px}
.bar i{position:absolute;inset:0 auto 0 0;background:var(--soft);border-radius:2px}
.bar i.short{background:var(--bad)}
.bar b{position:absolute;top:-3px;bottom:-3px;width:2px;background:var(--ink)}
.gang th:first-child,.gang td:first-child{padding-left:0}
.gang td:first-child{width:1%}
.gang{width:100%;max-width:760px}.gang td:nth-child(2){width:55%}

.heat{border-collapse:separate;border-spacing:2px;margin-left:-2px}
.heat th{font-weight:500;padding:2px 8px}
.heat tbody th{color:var(--ink);font-size:14px}
.heat td{min-width:46px;height:26px;padding:0 7px;text-align:right;border-radius:3px;background:var(--h0)}
.heat.pairs td{min-width:34px;padding:0 5px}
.heat.upright thead th{vertical-align:bottom;padding:2px 5px}
.heat.upright thead span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:180px;white-space:normal}
.heat tr:hover th{color:var(--focus)}
.heat .n,.map .n{background:none}
.h0{background:var(--h0)}.heat .h1,.key .h1{background:var(--h1)}.heat .h2,.key .h2{background:var(--h2)}
.heat .h3,.key .h3{background:var(--h3)}.heat .h4,.key .h4{background:var(--h4)}
.heat .bad,.key .bad{outline:2px solid var(--ink);outline-offset:-2px;font-weight:750}
.heat .na,.key .na{background:repeating-linear-gradient(135deg,transparent 0 4px,var(--hatch) 4px 5.5px);
text-align:center;font-weight:600}
.heat .part,.key .part{background:none;outline:1.5px dotted var(--hatch);outline-offset:-2px;color:var(--soft)}
.heat .self{background:none;color:var(--hatch);text-align:center}
.heat .gap{background:none}
.key{display:flex;flex-wrap:wrap;gap:6px 20px;margin-top:14px;color:var(--soft);font-size:13px;padding:0;
list-style:none}
.key span{display:inline-block;min-width:34px;height:20px;line-height:20px;border-radius:3px;margin-right:7px;
padding:0 5px;text-align:right;color:var(--ink);vertical-align:middle}

.maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(218px,1fr));gap:20px}
.map figcaption{font-weight:600;font-size:14px;margin-bottom:6px;display:flex;justify-content:space-between;gap:8px}
.map figcaption span{font-weight:400;color:var(--soft)}
figure{margin:0}
.map svg{display:block;width:100%;height:auto;max-height:360px}
svg .h0{fill:var(--h0)}svg .h1{fill:var(--h1)}svg .h2{fill:var(--h2)}svg .h3{fill:var(--h3)}svg .h4{fill:var(--h4)}
svg .line{fill:var(--grid)}
svg .bad{stroke:var(--ink);stroke-width:2.4;paint-order:stroke}
svg .stripe{stroke:var(--soft);stroke-width:1.6}svg .na{stroke:var(--soft);stroke-width:1}
svg .part{stroke:var(--hatch);stroke-width:1;stroke-dasharray:2 2}

.sentences p{max-width:76ch}.sentences p+p{margin-top:4px}
.sentences .last{font-weight:600;margin-top:10px}
.plainlist{padding-left:20px;max-width:76ch}.plainlist li+li{margin-top:4px}
.how{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 24px}
.how dt{color:var(--soft)}.how dd{margin:0;overflow-wrap:anywhere}

@media (max-width:640px){main{padding:16px 14px 40px}h1{font-size:23px}.banner{padding:18px 18px 16px}
.finding>summary{flex-wrap:wrap;gap:4px 10px;padding:12px 16px}
.finding>summary .amount{margin-left:0;width:100%;white-space:normal}
.finding>div{grid-template-columns:minmax(0,1fr);padding:0 16px 16px}section{margin-top:34px}
.facts{gap:12px 26px}.how{grid-template-columns:minmax(0,1fr)}.how dd{margin-bottom:6px}
th,td{padding:4px 8px}.gang td:nth-child(2){width:38%}.bar{min-width:70px}}
@media print{:root{--bg:#fff;--card:#fff}main{max-width:none;padding:0}body{font-size:11pt}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}.tall{max-height:none;border:0}.scroll{overflow:visible}
details::details-content{content-visibility:visible;block-size:auto}section,.finding,tr{break-inside:avoid}
section:has(table){break-inside:auto}}
@media (forced-colors:active){.banner,.bad,.bar{forced-color-adjust:none}}
"""
