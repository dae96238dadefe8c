#include "doors/runs/page.h"

namespace ltr::doors {

const std::string_view page_style = R"css(
:root{--ink:#1f2328;--soft:#656d76;--line:#d0d7de;--back:#fff;--card:#f6f8fa;--link:#0969da}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#8d96a0;--line:#30363d;--back:#0d1117;--card:#161b22;--link:#4493f8}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:76rem;margin:1.5rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--line)}
a{color:var(--link)}#note{color:#cf222e}
small,.soft{color:var(--soft)}
.state{font-size:.8rem;padding:.1rem .5rem;border:1px solid var(--line);border-radius:1rem;vertical-align:middle}
.finished{color:#1a7f37}.failed,.interrupted,.lost,.damaged{color:#cf222e}.running{color:#9a6700}
table{border-collapse:collapse;font-size:.86rem}td,th{text-align:left;padding:.15rem .9rem .15rem 0;vertical-align:top}
th{color:var(--soft);font-weight:600}td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
pre{background:var(--card);padding:.7rem;overflow-x:auto;font-size:.8rem}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(22rem,1fr));gap:1rem}
.chart{border:1px solid var(--line);border-radius:.4rem;padding:.4rem .6rem}
.chart h3{font-size:.9rem;margin:0}.chart svg{width:100%;height:13rem;display:block;touch-action:none}
.chart text{fill:var(--soft);font-size:10px}.chart .grid{stroke:var(--line);stroke-width:.5}
.chart path{fill:none;stroke-width:1.5}.chart .raw{opacity:.25}.chart .here{stroke:var(--soft);stroke-dasharray:2 2}
.legend{font-size:.78rem;display:flex;flex-wrap:wrap;gap:.1rem .8rem;min-height:1.3rem}
.legend i{display:inline-block;width:.9rem;height:.2rem;vertical-align:middle;margin-right:.3rem}
.controls{display:flex;flex-wrap:wrap;gap:1rem;font-size:.85rem;margin:.4rem 0}
.matrix td{padding:.15rem .5rem}
.pictures{display:flex;flex-wrap:wrap;gap:1rem}.pictures figure{margin:0;max-width:22rem}
.pictures img{max-width:100%;min-width:8rem;image-rendering:pixelated;border:1px solid var(--line)}
)css";

// Draws a picture for each group of series, `loss` of `train/loss` and `val/loss`, by hand: no library, nothing loaded.
const std::string_view page_script = R"js(
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const COLORS = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#17becf', '#e377c2', '#8c564b', '#bcbd22', '#7f7f7f'];
const W = 400, H = 210, LEFT = 48, RIGHT = 8, TOP = 8, BOTTOM = 20;
const view = {x: 'step', log: false, smooth: 0};

// A point is [step, epoch, seconds since the first event, value]; null for what is no number.
const xOf = {step: p => p[0], epoch: p => p[1], time: p => p[2]};

function linesByChart() {
  const charts = new Map();
  data.runs.forEach((run, r) => {
    for (const series of run.series) {
      // The classes of a metric, `val/recall/3`, share one picture.
      const title = series.name.replace(/\/\d+$/, '').split('/').slice(series.name.startsWith('lr/') ? 0 : 1).join('/') || series.name;
      if (!charts.has(title)) charts.set(title, []);
      const lines = charts.get(title);
      const name = data.runs.length > 1 ? run.name + ' ' + series.name : series.name;
      const role = data.runs.length > 1 && series.name.startsWith('train/');
      lines.push({name, points: series.points, dash: role ? '4 3' : '', color: data.runs.length > 1 ? r : lines.length});
    }
  });
  return charts;
}

function smoothed(points) {
  if (view.smooth === 0) return points;
  let mean = 0, weight = 0;
  return points.map(p => {
    if (p[3] === null) return p;
    mean = view.smooth * mean + (1 - view.smooth) * p[3];
    weight = view.smooth * weight + (1 - view.smooth);
    return [p[0], p[1], p[2], mean / weight];
  });
}

function ticks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough);
  const out = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step) out.push(Math.abs(t) < step * 1e-6 ? 0 : t);
  return out;
}

const short = v => v === null ? 'nan' : Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(5));

function node(tag, attributes, parent, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

function draw(holder, title, lines) {
  holder.textContent = '';
  const heading = document.createElement('h3');
  heading.textContent = title;
  holder.appendChild(heading);
  const svg = node('svg', {viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title}, holder);
  const legend = document.createElement('div');
  legend.className = 'legend';
  holder.appendChild(legend);

  const x = xOf[view.x];
  const height = v => view.log ? Math.log10(v) : v;
  const shown = p => p[3] !== null && (!view.log || p[3] > 0);
  const all = lines.flatMap(line => line.points.filter(shown));
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const p of all) {
    x0 = Math.min(x0, x(p)); x1 = Math.max(x1, x(p));
    y0 = Math.min(y0, height(p[3])); y1 = Math.max(y1, height(p[3]));
  }
  if (all.length === 0) [x0, x1, y0, y1] = [0, 1, 0, 1];
  if (x1 === x0) x1 = x0 + 1;
  if (y1 === y0) { y0 -= Math.abs(y0) * .1 || .5; y1 += Math.abs(y1) * .1 || .5; }
  const px = v => LEFT + (v - x0) / (x1 - x0) * (W - LEFT - RIGHT);
  const py = v => H - BOTTOM - (v - y0) / (y1 - y0) * (H - TOP - BOTTOM);

  for (const t of ticks(y0, y1, 4)) {
    node('line', {class: 'grid', x1: LEFT, x2: W - RIGHT, y1: py(t), y2: py(t)}, svg);
    node('text', {x: LEFT - 4, y: py(t) + 3, 'text-anchor': 'end'}, svg, short(view.log ? 10 ** t : t));
  }
  for (const t of ticks(x0, x1, 5)) node('text', {x: px(t), y: H - 6, 'text-anchor': 'middle'}, svg, short(t));

  for (const line of lines) {
    const color = COLORS[line.color % COLORS.length];
    const path = points => points.filter(shown).map((p, i) => (i ? 'L' : 'M') + px(x(p)).toFixed(1) + ' ' + py(height(p[3])).toFixed(1)).join('');
    if (view.smooth > 0) node('path', {d: path(line.points), stroke: color, class: 'raw'}, svg);
    node('path', {d: path(smoothed(line.points)), stroke: color, 'stroke-dasharray': line.dash}, svg);
    if (line.points.filter(shown).length === 1) {
      const only = line.points.filter(shown)[0];
      node('circle', {cx: px(x(only)), cy: py(height(only[3])), r: 2.5, fill: color}, svg);
    }
  }

  const tell = at => {
    legend.textContent = '';
    for (const line of lines) {
      const entry = document.createElement('span');
      const mark = document.createElement('i');
      mark.style.background = COLORS[line.color % COLORS.length];
      entry.appendChild(mark);
      let p = line.points[line.points.length - 1];
      if (at !== null) p = line.points.reduce((a, b) => Math.abs(x(b) - at) < Math.abs(x(a) - at) ? b : a);
      entry.append(line.name + ' ' + short(p[3]) + (at !== null ? ' @ ' + short(x(p)) : ''));
      legend.appendChild(entry);
    }
  };
  tell(null);
  const here = node('line', {class: 'here', y1: TOP, y2: H - BOTTOM, x1: -9, x2: -9}, svg);
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect();
    const at = x0 + ((event.clientX - box.left) / box.width * W - LEFT) / (W - LEFT - RIGHT) * (x1 - x0);
    const kept = Math.min(Math.max(at, x0), x1);
    here.setAttribute('x1', px(kept)); here.setAttribute('x2', px(kept));
    tell(kept);
  });
  svg.addEventListener('pointerleave', () => { here.setAttribute('x1', -9); here.setAttribute('x2', -9); tell(null); });
}

const place = document.getElementById('charts');
function redraw() {
  const charts = [...linesByChart()].sort((a, b) => a[0].startsWith('lr/') - b[0].startsWith('lr/') || (a[0] < b[0] ? -1 : 1));
  while (place.children.length > charts.length) place.lastChild.remove();
  charts.forEach(([title, lines], i) => {
    if (!place.children[i]) { const made = document.createElement('div'); made.className = 'chart'; place.appendChild(made); }
    draw(place.children[i], title, lines);
  });
}
if (place) {
  document.getElementById('axis').onchange = event => { view.x = event.target.value; redraw(); };
  document.getElementById('log').onchange = event => { view.log = event.target.checked; redraw(); };
  document.getElementById('smooth').oninput = event => { view.smooth = +event.target.value; redraw(); };
  redraw();
}
)js";

// Follows the runs of the page: their curves grow by what is new; where more than points is new, the rest is read again.
const std::string_view follow_script = R"js(
'use strict';
const MOST_POINTS = 4000, PAUSE = 1000, LONGEST_PAUSE = 30000;

// Of each four points the least and the greatest stay, in their order.
function thinned(points) {
  if (points.length <= MOST_POINTS) return points;
  const out = [points[0]];
  for (let i = 1; i < points.length - 1; i += 4) {
    const piece = points.slice(i, Math.min(i + 4, points.length - 1));
    const finite = piece.filter(p => p[3] !== null);
    if (finite.length === 0) { out.push(piece[0]); continue; }
    const low = finite.reduce((a, b) => b[3] < a[3] ? b : a), high = finite.reduce((a, b) => b[3] > a[3] ? b : a);
    out.push(...(low === high ? [low] : low[0] < high[0] ? [low, high] : [high, low]));
  }
  return [...out, points[points.length - 1]];
}

// The numbers of a series beside its curve.
function tell(r, series) {
  const values = series.points.map(p => p[3]);
  const finite = values.filter(v => v !== null);
  const digits = v => data.runs.length > 1 && v !== null ? +v.toPrecision(6) : v;
  const least = finite.reduce((a, b) => Math.min(a, b), Infinity), greatest = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const news = {last: digits(values[values.length - 1]), least: digits(least), greatest: digits(greatest), count: series.count};
  for (const cell of document.querySelectorAll(`td[data-run="${r}"]`))
    if (cell.dataset.series === series.name) cell.textContent = news[cell.dataset.what] ?? 'nan';
}

// False where a series is new.
function take(r, news) {
  for (const added of news.series) {
    const known = data.runs[r].series.find(series => series.name === added.name);
    if (!known) return false;
    known.points = thinned(known.points.concat(added.points));
    known.count += added.count;
    tell(r, known);
  }
  data.runs[r].cursor = news.cursor;
  return true;
}

async function readAgain() {
  const answer = await fetch(location.href);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (!answer.ok) throw new Error(page.body.textContent.trim());
  const open = new Set([...document.querySelectorAll('details[open] summary')].map(one => one.textContent));
  for (const id of ['head', 'rest']) document.getElementById(id).replaceWith(page.getElementById(id));
  for (const one of document.querySelectorAll('summary')) if (open.has(one.textContent)) one.parentNode.open = true;
  data.runs = JSON.parse(page.getElementById('data').textContent).runs;
}

async function follow() {
  for (let pause = PAUSE;;) {
    await new Promise(done => setTimeout(done, pause));
    if (document.hidden) continue;
    const note = document.getElementById('note');
    try {
      let isNew = false, isStale = false;
      for (const [r, run] of data.runs.entries()) {
        const answer = await fetch(`${run.news}?from=${run.cursor}&status=${encodeURIComponent(run.status)}`);
        if (answer.status === 204) continue;
        if (!answer.ok) throw new Error(await answer.text());
        const news = await answer.json();
        isNew = true;
        if (news.stale || !take(r, news)) isStale = true;
      }
      if (isStale) await readAgain();
      if (isNew) redraw();
      note.textContent = '';
      pause = PAUSE;
    } catch (error) {
      note.textContent = 'not followed now: ' + error.message;
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }
}
follow();
)js";

// The lines of the list, read again where something changed; what is chosen stays so.
const std::string_view list_script = R"js(
'use strict';
const rows = document.getElementById('rows'), note = document.getElementById('note');
const chosen = () => new Set([...rows.querySelectorAll('input:checked')].map(one => one.value));
async function follow() {
  for (let pause = 1000;;) {
    await new Promise(done => setTimeout(done, pause));
    if (document.hidden) continue;
    try {
      const answer = await fetch('/list?version=' + rows.dataset.version);
      if (answer.status === 200) {
        const news = await answer.json(), before = chosen();
        rows.innerHTML = news.rows;
        rows.dataset.version = news.version;
        for (const one of rows.querySelectorAll('input')) one.checked = before.has(one.value);
      } else if (answer.status !== 204) throw new Error(await answer.text());
      note.textContent = '';
      pause = 1000;
    } catch (error) {
      note.textContent = 'not followed now: ' + error.message;
      pause = Math.min(2 * pause, 30000);
    }
  }
}
follow();
)js";

}  // namespace ltr::doors
