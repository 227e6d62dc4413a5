"""What a person would not want to see on a page of panels, found by a script inside the browser."""

from __future__ import annotations

FAULTS = """
(() => {
  const found = [];
  const channel = one => { const s = one / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
  const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ratio = (one, other) => {
    const [dim, bright] = [light(one), light(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dim + 0.05);
  };
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const back = parts(getComputedStyle(at).backgroundColor);
      if (back.length === 3 || back[3] > 0) return back;
    }
    return [255, 255, 255];
  };
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than its window');
  for (const panel of document.querySelectorAll('article')) {
    const title = panel.querySelector('h3').textContent;
    for (const one of panel.querySelectorAll('h3, .body, .stat, .bar em')) {
      if (one.scrollWidth > one.clientWidth + 1) found.push(`${title}: ${one.className || one.tagName} is cut`);
    }
    const body = panel.querySelector('.body');
    if (panel.querySelector('svg, .stat') && body.scrollHeight > body.clientHeight + 2) {
      found.push(`${title}: ${body.scrollHeight - body.clientHeight} px are hidden below`);
    }
    for (const one of panel.querySelectorAll('.nothing')) {
      if (/^(no data|could not ask)/i.test(one.textContent)) found.push(`${title}: ${one.textContent}`);
    }
    for (const one of panel.querySelectorAll('.line')) {
      const seen = ratio(parts(getComputedStyle(one).stroke), ground(one));
      if (seen < 3) found.push(`${title}: a line with contrast ${seen.toFixed(1)}`);
    }
  }
  for (const one of document.querySelectorAll('h1, h2, h3, p, td, th, li, small, em, span, .stat, text:not(.word)')) {
    if (!one.textContent.trim()) continue;
    const style = getComputedStyle(one);
    const seen = ratio(parts(one.tagName === 'text' ? style.fill : style.color), ground(one));
    if (seen < 3) found.push(`${one.textContent.slice(0, 40)}: text with contrast ${seen.toFixed(1)}`);
  }
  return found;
})()
"""
"""Evaluates to a list of sentences."""
