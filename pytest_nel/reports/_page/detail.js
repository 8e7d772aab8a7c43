// One problem in full: its prompt once, then its attempts beside each other.

const PARTS = [
  ['x', 'Extracted'], ['r', 'Response'], ['f', 'Error'], ['t', 'Reasoning'],
  ['s', 'Further scorers'], ['d', 'Scoring details'], ['m', 'Metadata'],
];
const FOLDED = new Set(['t', 'd', 'm']);

function leftOut(texts, key, row) {
  const count = texts.n && texts.n[key];
  if (!count) return null;
  const { path } = meta.sets[index.columns.set[row]];
  return el('p', { class: 'left-out' },
    `${number(count)} characters are left out here. All of it: line ${index.columns.line[row]} of ${path}`);
}

function part(texts, key, title, row, query) {
  const text = texts[key];
  if (text === undefined) {
    return key === 'x' ? [el('h4', {}, title), el('p', { class: 'quiet' }, 'nothing was found')] : [];
  }
  const shown = text === '' ? el('p', { class: 'quiet' }, 'empty') : el('pre', { tabindex: 0 }, marked(text, query));
  const content = [shown, leftOut(texts, key, row)];
  if (!FOLDED.has(key)) return [el('h4', {}, title), ...content];
  const hit = query && text.toLowerCase().includes(query);
  return [el('details', { open: key === 't' && hit }, el('summary', {}, title), ...content)];
}

function side(row, texts, title, here, query) {
  const { outcome, reward: rewards, tokens, latency, finish } = index.columns;
  const facts = [
    `reward ${reward(rewards[row])}`,
    tokens[row] === null ? null : `${number(tokens[row])} tokens`,
    latency[row] === null ? null : millis(latency[row]),
    finish[row] === null ? null : `finish: ${finish[row]}`,
    texts.k ? `failure: ${texts.k}` : null,
  ].filter((fact) => fact !== null);
  return el('div', { class: here ? 'side here' : 'side', 'data-row': row },
    el('header', {}, el('b', {}, title), el('span', { class: `mark o-${outcome[row]}` }, outcome[row]),
      el('small', {}, facts.join(' · '))),
    ...PARTS.flatMap(([key, name]) => part(texts, key, name, row, query)));
}

class Detail {
  constructor(browser) {
    this.browser = browser;
    this.node = el('article', { class: 'detail', hidden: true, 'aria-label': 'Sample' });
    this.asked = 0;
  }

  get isOpen() { return !this.node.hidden; }

  close() {
    this.node.hidden = true;
    this.node.replaceChildren();
    document.documentElement.style.overflow = '';
  }

  async show(title, sides, query) {
    const mine = this.asked += 1;
    const texts = await Promise.all(sides.map((one) => textOf(one.row)));
    if (mine !== this.asked) return;
    const [first] = sides;
    const prompt = texts[0];
    const button = (label, name, act) => el('button', { type: 'button', 'aria-label': name, title: name, onclick: act }, label);
    this.node.replaceChildren(
      el('div', { class: 'bar-top' }, el('h3', {}, title),
        button('↑', 'Previous (k)', () => this.browser.move(-1)),
        button('↓', 'Next (j)', () => this.browser.move(1)),
        button('✕', 'Close (Esc)', () => this.browser.closeDetail())),
      el('h4', {}, 'Prompt'),
      prompt.p ? el('pre', { class: 'prompt', tabindex: 0 }, marked(prompt.p, query)) : el('p', { class: 'quiet' }, 'none'),
      leftOut(prompt, 'p', first.row) || '',
      el('h4', {}, 'Expected'),
      prompt.e ? el('pre', { class: 'expected', tabindex: 0 }, marked(prompt.e, query)) : el('p', { class: 'quiet' }, 'none'),
      leftOut(prompt, 'e', first.row) || '',
      el('div', { class: 'sides', tabindex: 0 },
        ...sides.map((one, at) => side(one.row, texts[at], one.title, one.here, query))),
    );
    this.node.hidden = false;
    if (this.browser.lists.narrow.matches) document.documentElement.style.overflow = 'hidden';
    const here = this.node.querySelector('.side.here');
    if (here) here.parentNode.scrollLeft = here.offsetLeft - here.parentNode.offsetLeft;
  }
}
