// The sample browser: filters, order, keys.

const OUTCOMES = ['correct', 'wrong', 'unparsed', 'unscored'];
const KINDS = ['regression', 'improvement', 'lower', 'higher'];

class Browser {
  constructor() {
    const { columns } = index;
    this.node = $('browser');
    this.rows = [];
    for (let row = 0; row < index.size; row += 1) if (!meta.sets[columns.set[row]].baseline) this.rows.push(row);
    this.byAttempt = new Map();
    this.repeats = new Map();
    for (const row of this.rows) {
      const problem = `${columns.set[row]}/${columns.problem[row]}`;
      this.byAttempt.set(`${problem}/${columns.repeat[row]}`, row);
      if (!this.repeats.has(problem)) this.repeats.set(problem, []);
      this.repeats.get(problem).push(row);
    }
    this.sets = meta.sets.map((set, at) => ({ ...set, at })).filter((set) => !set.baseline && set.shown);
    this.several = this.sets.length > 1;
    this.severalRuns = new Set(this.sets.map((set) => set.run)).size > 1;
    this.hasRepeats = [...this.repeats.values()].some((rows) => rows.length > 1);
    this.hasCategories = this.rows.some((row) => columns.category[row] !== null);
    this.state = { mode: 'samples', set: '', kinds: new Set(), category: '', query: '', field: 'all', disagree: false, sort: '', down: false };
    this.run = 0;
    this.medium = matchMedia('(max-width: 1280px)');
    this.medium.addEventListener('change', () => { this.arrange(); this.lists.draw(); });
    this.lists = new Lists(this);
    this.detail = new Detail(this);
    this.build();
    this.apply();
    this.follow();
  }

  get flips() { return this.state.mode === 'flips'; }

  // The row of the candidate that an item is about.
  rowOf(item) { return this.flips ? index.flips[item][0] : item; }

  kindOf(item) { return this.flips ? index.flips[item][2] : index.columns.outcome[item]; }

  setName(at) {
    const set = meta.sets[at];
    return this.severalRuns ? `${set.benchmark} · ${set.run}` : set.benchmark;
  }

  build() {
    const { state } = this;
    const change = (name) => (event) => { state[name] = event.target.value; this.apply(); };
    const tab = (mode, words) => el('button', {
      type: 'button', role: 'tab', id: `tab-${mode}`, 'aria-selected': String(state.mode === mode),
      onclick: () => this.turn(mode),
    }, words);
    this.tabs = el('div', { class: 'tabs', role: 'tablist', hidden: !index.flips.length },
      tab('samples', `All samples (${number(this.rows.length)})`),
      tab('flips', `Changed against the baseline (${number(index.flips.length)})`));
    this.query = el('input', {
      type: 'search', id: 'query', placeholder: 'Search ( / )', 'aria-label': 'Search', autocomplete: 'off', spellcheck: 'false',
      oninput: () => { clearTimeout(this.timer); this.timer = setTimeout(() => { state.query = this.query.value.trim().toLowerCase(); this.apply(); }, 150); },
    });
    const option = ([value, words]) => el('option', { value }, words);
    const field = el('select', { id: 'field', 'aria-label': 'Search in', onchange: change('field') },
      ...Object.keys(FIELDS).map((name) => option([name, name === 'all' ? 'in all texts' : `in ${name}`])));
    this.setChoice = el('select', { id: 'set', 'aria-label': 'Benchmark', hidden: !this.several, onchange: (event) => { state.set = event.target.value; this.listCategories(); this.apply(); } },
      option(['', 'all benchmarks']), ...this.sets.map((set) => option([set.at, this.setName(set.at)])));
    this.category = el('select', { id: 'category', 'aria-label': 'Category', hidden: !this.hasCategories, onchange: change('category') });
    this.disagree = el('button', {
      type: 'button', class: 'chip', id: 'disagree', 'aria-pressed': 'false', hidden: !this.hasRepeats,
      onclick: () => { state.disagree = !state.disagree; this.disagree.setAttribute('aria-pressed', String(state.disagree)); this.apply(); },
    }, 'repeats disagree');
    this.chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'Outcome' });
    this.sorter = el('select', { class: 'sorter', 'aria-label': 'Order', onchange: (event) => this.order(event.target.value, false) });
    this.head = el('div', { class: 'cols' });
    this.status = el('p', { class: 'status', role: 'status' });
    const hint = el('p', { class: 'quiet hint' }, el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'), ' next and previous, ',
      el('kbd', {}, '/'), ' search, ', el('kbd', {}, 'Esc'), ' close');
    this.node.append(this.tabs,
      el('div', { class: 'tools' }, el('span', { class: 'search' }, this.query, field), this.setChoice, this.category, this.chips, this.disagree, this.sorter),
      this.status, this.head, this.lists.list, this.detail.node, hint);
    this.node.hidden = false;
    this.refill();
  }

  columns() {
    const { columns } = index;
    const of = (name) => (item) => columns[name][this.rowOf(item)];
    const before = (item) => columns.reward[index.flips[item][1]];
    const all = [
      ['outcome', this.flips ? 'change' : 'outcome', this.flips ? '8.6rem' : '6.9rem', (item) => ORDER[this.kindOf(item)]],
      this.several ? ['set', 'benchmark', 'minmax(6rem,0.8fr)', (item) => this.setName(of('set')(item))] : null,
      ['problem', 'problem', '4.6rem', of('problem')],
      this.hasRepeats ? ['repeat', 'repeat', '4rem', of('repeat')] : null,
      ['prompt', 'prompt', 'minmax(8rem,3fr)', of('prompt')],
      ['expected', 'expected', 'minmax(5.2rem,1fr)', of('expected')],
      ['extracted', 'extracted', 'minmax(5.2rem,1fr)', of('extracted')],
      this.hasCategories ? ['category', 'category', 'minmax(5.2rem,0.9fr)', of('category')] : null,
      this.flips ? ['before', 'before', '4.2rem', before] : null,
      ['reward', this.flips ? 'now' : 'reward', '4.4rem', of('reward')],
      ['tokens', 'tokens', '4.6rem', of('tokens')],
      ['latency', 'latency', '4.9rem', of('latency')],
    ];
    return all.filter((column) => column !== null);
  }

  // Those there is room for; the sample itself has the others.
  inSight() {
    const left = this.medium.matches ? new Set(['tokens', 'latency']) : new Set();
    return this.columns().filter(([name]) => !left.has(name));
  }

  arrange() {
    const columns = this.inSight();
    this.node.style.setProperty('--cols', columns.map((column) => column[2]).join(' '));
    const numbers = new Set(['problem', 'repeat', 'before', 'reward', 'tokens', 'latency']);
    this.heads = new Map(columns.map(([name, words]) => [name, el('button', {
      type: 'button', class: numbers.has(name) ? 'n' : null, 'data-column': name,
      onclick: () => this.order(name, this.state.sort === name && !this.state.down),
    }, words)]));
    this.head.replaceChildren(...this.heads.values());
    this.pointOut();
  }

  pointOut() {
    const { sort, down } = this.state;
    for (const [column, head] of this.heads) {
      if (column === sort) head.dataset.sort = down ? 'down' : 'up'; else delete head.dataset.sort;
    }
  }

  // What depends on the mode.
  refill() {
    const { state } = this;
    const columns = this.columns();
    this.arrange();
    this.sorter.replaceChildren(el('option', { value: '' }, 'as recorded'),
      ...columns.map(([name, words]) => el('option', { value: name }, `by ${words}`)));
    const there = new Set(this.all().map((item) => this.kindOf(item)));
    const kinds = (this.flips ? KINDS : OUTCOMES).filter((kind) => there.has(kind));
    this.chips.replaceChildren(...kinds.map((kind) => {
      const chip = el('button', {
        type: 'button', class: `chip o-${kind}`, 'aria-pressed': 'false', 'data-kind': kind,
        onclick: () => {
          if (!state.kinds.delete(kind)) state.kinds.add(kind);
          chip.setAttribute('aria-pressed', String(state.kinds.has(kind)));
          this.apply();
        },
      }, kind);
      return chip;
    }));
    this.listCategories();
  }

  // Those of the chosen benchmark.
  listCategories() {
    const { set, category } = index.columns;
    const rows = this.all().map((item) => this.rowOf(item));
    const chosen = this.state.set === '' ? rows : rows.filter((row) => set[row] === Number(this.state.set));
    const names = new Set(chosen.map((row) => category[row]).filter((name) => name !== null));
    if (!names.has(this.state.category)) this.state.category = '';
    this.category.replaceChildren(el('option', { value: '' }, 'all categories'),
      ...[...names].sort().map((name) => el('option', { value: name }, name)));
    this.category.value = this.state.category;
  }

  // How many of each kind the other filters let through.
  count(items) {
    const counts = new Map();
    for (const item of items) counts.set(this.kindOf(item), (counts.get(this.kindOf(item)) || 0) + 1);
    for (const chip of this.chips.children) chip.textContent = `${chip.dataset.kind} ${number(counts.get(chip.dataset.kind) || 0)}`;
  }

  all() { return this.flips ? index.flips.map((_, at) => at) : this.rows; }

  turn(mode) {
    Object.assign(this.state, { mode, kinds: new Set(), category: '', sort: '', down: false });
    for (const tab of this.tabs.children) tab.setAttribute('aria-selected', String(tab.id === `tab-${mode}`));
    this.closeDetail();
    this.refill();
    this.apply();
  }

  order(name, down) {
    Object.assign(this.state, { sort: name, down });
    this.sorter.value = name;
    this.pointOut();
    this.apply();
  }

  passes(item) {
    const { state } = this;
    const { set, category } = index.columns;
    const row = this.rowOf(item);
    return (state.set === '' || set[row] === Number(state.set))
      && (state.category === '' || category[row] === state.category)
      && (!state.disagree || this.differ(row));
  }

  differ(row) {
    const { outcome } = index.columns;
    return this.siblings(row).some((other) => outcome[other] !== outcome[row]);
  }

  siblings(row) { return this.repeats.get(`${index.columns.set[row]}/${index.columns.problem[row]}`); }

  async apply() {
    const mine = this.run += 1;
    const { query, field, sort, down, kinds } = this.state;
    const all = this.all();
    let items = all.filter((item) => this.passes(item));
    this.count(items);
    if (kinds.size) items = items.filter((item) => kinds.has(this.kindOf(item)));
    if (sort) {
      const value = this.columns().find(([name]) => name === sort)[3];
      const keys = new Map(items.map((item) => [item, value(item)]));
      items = items.map((item, at) => [item, at])
        .sort((left, right) => compare(keys.get(left[0]), keys.get(right[0]), down) || left[1] - right[1])
        .map(([item]) => item);
    }
    if (query) {
      const rowsOf = this.flips ? (item) => index.flips[item].slice(0, 2) : (item) => [item];
      const progress = (at, found) => { this.status.textContent = `Searching: ${number(at)} of ${number(items.length)}, ${number(found)} found …`; };
      items = await search(items, query, FIELDS[field], rowsOf, () => mine === this.run, progress);
      if (items === null) return;
    }
    this.lists.show(items);
    this.status.textContent = `${number(items.length)} of ${number(all.length)}`;
    this.status.dataset.done = String(mine);
  }

  cells(item) {
    const { columns } = index;
    const row = this.rowOf(item);
    const kind = this.kindOf(item);
    const cell = (name, text, kindOfCell) => el('span', { class: kindOfCell, title: name === 'prompt' ? null : text }, text);
    const made = {
      outcome: () => el('span', { class: `mark o-${kind}` }, kind),
      set: () => cell('set', this.setName(columns.set[row]), 'soft'),
      problem: () => cell('problem', `#${columns.problem[row]}`, 'n'),
      repeat: () => cell('repeat', `r${columns.repeat[row]}`, 'n'),
      prompt: () => cell('prompt', columns.prompt[row], 'prompt soft'),
      expected: () => cell('expected', columns.expected[row], 'text wide'),
      extracted: () => cell('extracted', columns.extracted[row] === null ? '–' : columns.extracted[row], 'text wide'),
      category: () => cell('category', columns.category[row] || '', 'soft wide'),
      before: () => cell('before', reward(columns.reward[index.flips[item][1]]), 'n wide'),
      reward: () => cell('reward', reward(columns.reward[row]), 'n wide'),
      tokens: () => cell('tokens', number(columns.tokens[row]), 'n wide soft'),
      latency: () => cell('latency', millis(columns.latency[row]), 'n wide soft'),
    };
    if (this.lists.narrow.matches) made.set = () => cell('set', this.setName(columns.set[row]), 'soft wide');
    return this.inSight().map(([name]) => made[name]());
  }

  open(place) {
    const item = this.lists.items[place];
    if (item === undefined) return;
    this.lists.select(place);
    this.present(item);
  }

  present(item) {
    const { columns } = index;
    const row = this.rowOf(item);
    const id = columns.id[row] ? ` (${columns.id[row]})` : '';
    const category = columns.category[row] === null ? '' : ` · ${columns.category[row]}`;
    const title = `${this.setName(columns.set[row])} · problem ${columns.problem[row]}${id}${category}`;
    const repeat = (at) => `repeat ${columns.repeat[at]}`;
    const sides = this.flips
      ? [{ row: index.flips[item][1], title: `baseline, ${repeat(index.flips[item][1])}` }, { row, title: `candidate, ${repeat(row)}`, here: true }]
      : this.siblings(row).map((at) => ({ row: at, title: repeat(at), here: at === row && this.siblings(row).length > 1 }));
    history.replaceState(null, '', `#sample-${columns.set[row]}-${columns.problem[row]}-${columns.repeat[row]}`);
    return this.detail.show(title, sides, this.state.query);
  }

  // A sample that the address or a failure names, filtered away or not.
  async openAttempt(set, problem, repeat) {
    const row = this.byAttempt.get(`${set}/${problem}/${repeat}`);
    this.node.scrollIntoView();
    if (row === undefined) {
      this.status.textContent = `Attempt ${problem}, repeat ${repeat} is not on this page.`;
      return;
    }
    if (this.flips) this.turn('samples');
    const place = this.lists.items.indexOf(row);
    if (place >= 0) this.lists.select(place);
    await this.present(row);
  }

  follow() {
    const found = /^#sample-(\d+)-(\d+)-(\d+)$/.exec(location.hash);
    if (found) this.openAttempt(...found.slice(1));
    for (const button of document.querySelectorAll('button.open')) {
      button.addEventListener('click', () => this.openAttempt(button.dataset.set, button.dataset.problem, button.dataset.repeat));
    }
    document.addEventListener('keydown', (event) => this.key(event));
  }

  move(step) {
    const place = Math.min(Math.max(this.lists.selected + step, 0), this.lists.items.length - 1);
    this.open(place);
  }

  closeDetail() {
    this.detail.asked += 1;
    this.detail.close();
    if (location.hash.startsWith('#sample-')) history.replaceState(null, '', location.pathname + location.search);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches('input, select, textarea');
    if (event.key === 'Escape') {
      if (typing) event.target.blur(); else this.closeDetail();
      event.preventDefault(); // or the search box would be emptied
      return;
    }
    if (typing) return;
    const inList = event.target === this.lists.list;
    const steps = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 } : {}) };
    if (steps[event.key]) this.move(steps[event.key]);
    else if (event.key === '/') { this.query.focus(); this.query.select(); }
    else if (event.key === 'Enter' && inList) this.open(Math.max(this.lists.selected, 0));
    else return;
    event.preventDefault();
  }
}

async function start() {
  themes();
  if (!$('browser')) return;
  if (!('DecompressionStream' in window)) {
    $('browser').hidden = false;
    $('browser').textContent = 'This browser is too old to show the samples; the numbers above are complete.';
    return;
  }
  await readIndex();
  new Browser();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  await pause();
  await openAll();
}

start();
