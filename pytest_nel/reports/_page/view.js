// Elements made here hold text of others as text only: no markup is ever parsed.

function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const number = (value) => (value === null || value === undefined ? '' : value.toLocaleString('en-US'));

function millis(value) {
  if (value === null || value === undefined) return '';
  return value >= 10000 ? `${(value / 1000).toFixed(1)} s` : `${number(Math.round(value))} ms`;
}

function reward(value) {
  return value === null || value === undefined ? '–' : String(Math.round(value * 10000) / 10000);
}

// The text with what was searched for marked.
function marked(text, query) {
  const made = document.createDocumentFragment();
  const low = query ? text.toLowerCase() : '';
  if (!query || low.length !== text.length) { // lower case may be longer: places would be wrong
    made.append(text);
    return made;
  }
  let from = 0;
  for (let at = low.indexOf(query); at >= 0; at = low.indexOf(query, from)) {
    made.append(text.slice(from, at), el('mark', {}, text.slice(at, at + query.length)));
    from = at + query.length;
  }
  made.append(text.slice(from));
  return made;
}

// Sorted with numbers as numbers; what is missing comes last, whichever way.
function compare(left, right, down) {
  const none = (value) => value === null || value === undefined || value === '';
  if (none(left) || none(right)) return none(left) - none(right);
  const order = typeof left === 'number' && typeof right === 'number'
    ? left - right
    : String(left).localeCompare(String(right), 'en', { numeric: true });
  return down ? -order : order;
}

function themes() {
  const button = $('theme');
  const root = document.documentElement;
  const keep = (value) => { try { localStorage.setItem('nel-theme', value); } catch { /* file:// */ } };
  try { root.dataset.theme = localStorage.getItem('nel-theme') || 'auto'; } catch { /* file:// */ }
  button.hidden = false;
  button.setAttribute('aria-label', 'Light or dark');
  button.addEventListener('click', () => {
    const dark = root.dataset.theme === 'dark'
      || (root.dataset.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
    root.dataset.theme = dark ? 'light' : 'dark';
    keep(root.dataset.theme);
  });
}
