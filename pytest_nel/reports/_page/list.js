// What is listed: attempts, or those that came out otherwise than in the baseline. Only the rows in
// sight are elements.

const ORDER = { correct: 0, wrong: 1, unparsed: 2, unscored: 3, regression: 0, improvement: 1, lower: 2, higher: 3 };
const FIELDS = { all: ['p', 'r', 'x', 'e'], prompt: ['p'], response: ['r'], expected: ['e'], extracted: ['x'] };

class Lists {
  constructor(browser) {
    this.browser = browser;
    this.items = []; // positions: of rows, or of flips
    this.selected = -1;
    this.list = el('div', {
      class: 'list', tabindex: 0, role: 'listbox', 'aria-label': 'Samples', onscroll: () => this.draw(),
    });
    this.pad = el('div', { class: 'pad', role: 'presentation' });
    this.list.append(this.pad);
    this.narrow = matchMedia('(max-width: 760px)');
    this.narrow.addEventListener('change', () => this.draw());
    this.list.addEventListener('click', (event) => {
      const row = event.target.closest('.row');
      if (row) browser.open(Number(row.dataset.place));
    });
    addEventListener('resize', () => this.draw());
  }

  get height() { return this.narrow.matches ? 62 : 34; }

  show(items) {
    const kept = this.selected >= 0 ? this.items[this.selected] : -1;
    this.items = items;
    this.selected = items.indexOf(kept);
    this.list.scrollTop = 0;
    this.draw();
  }

  draw() {
    const { height, items, list } = this;
    this.pad.style.height = `${items.length * height}px`;
    const first = Math.max(0, Math.floor(list.scrollTop / height) - 8);
    const last = Math.min(items.length, Math.ceil((list.scrollTop + list.clientHeight) / height) + 8);
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(this.row(place, height));
    if (!items.length) rows.push(el('p', { class: 'empty' }, 'Nothing matches.'));
    this.pad.replaceChildren(...rows);
    if (this.selected >= first && this.selected < last) {
      list.setAttribute('aria-activedescendant', `row-${this.selected}`);
    } else list.removeAttribute('aria-activedescendant');
  }

  row(place, height) {
    const made = el('div', {
      class: 'row', role: 'option', id: `row-${place}`, 'data-place': place,
      'aria-selected': String(place === this.selected),
      'aria-setsize': this.items.length, 'aria-posinset': place + 1,
    }, ...this.browser.cells(this.items[place]));
    made.style.top = `${place * height}px`;
    return made;
  }

  select(place) {
    this.selected = place;
    const { height, list } = this;
    const top = place * height;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
    this.draw();
  }
}

// The rows that pass, found without holding the page up; null when something else was asked meanwhile.
async function search(candidates, query, fields, rowsOf, still, progress) {
  const found = [];
  let begun = performance.now();
  for (let at = 0; at < candidates.length; at += 1) {
    for (const row of rowsOf(candidates[at])) {
      const texts = textNow(row) || await textOf(row);
      const { id, problem } = index.columns;
      if (fields.some((name) => (texts[name] || '').toLowerCase().includes(query))
        || (fields.length > 1 && (id[row] === query || `#${problem[row]}` === query))) {
        found.push(candidates[at]);
        break;
      }
    }
    if (performance.now() - begun > PAUSE) {
      progress(at, found.length);
      await pause();
      if (!still()) return null;
      begun = performance.now();
    }
  }
  return still() ? found : null;
}
