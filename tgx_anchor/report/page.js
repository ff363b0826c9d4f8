'use strict';

(() => {
  const STRONGEST = 10;
  const DOUBTS = 10;
  const NEIGHBOURS = 20;
  const MEMBERS = 500;
  const SIZES = 10;
  const PRINTED = 200;

  const byId = (id) => document.getElementById(id);

  // Data //////////////////////////////////////////////////////////////////////

  function unpack(text, Type) {
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Type(bytes.buffer);
  }

  const report = JSON.parse(byId('report-data').textContent);
  const groupId = report.group.id;
  const groupTime = report.group.time;
  const anchor = unpack(report.group.anchor, Int32Array);
  const probability = unpack(report.group.probability, Float32Array);
  const runnerUp = unpack(report.group.runnerUp, Int32Array);
  const second = unpack(report.group.second, Float32Array);
  const margin = unpack(report.group.margin, Float32Array);
  const known = unpack(report.group.known, Uint8Array);
  const ptr = unpack(report.member.ptr, Int32Array);
  const person = unpack(report.member.person, Int32Array);
  const score = unpack(report.member.score, Float32Array);
  const isAnchor = unpack(report.member.isAnchor, Uint8Array);
  const personId = report.person.id;
  const strength = report.person.strength && unpack(report.person.strength, Float32Array);
  const numGroups = groupId.length;
  const numPeople = personId.length;
  const size = (group) => ptr[group + 1] - ptr[group];

  const personGroups = new Int32Array(numPeople);
  const personAnchored = new Int32Array(numPeople);
  for (let i = 0; i < person.length; i++) {
    personGroups[person[i]] += 1;
    personAnchored[person[i]] += isAnchor[i];
  }
  let numKnown = 0;
  let numPredicted = 0;
  for (let group = 0; group < numGroups; group++) {
    if (known[group]) numKnown += 1;
    else if (anchor[group] >= 0) numPredicted += 1;
  }

  const groupSearch = groupId.map((id) => id.toLowerCase());
  const personSearch = personId.map((id) => id.toLowerCase());

  let groupsOfPerson = null;
  function personIndex() {
    // The groups of each person, made when the first group is opened.
    if (groupsOfPerson) return groupsOfPerson;
    const start = new Int32Array(numPeople + 1);
    for (let i = 0; i < numPeople; i++) start[i + 1] = start[i] + personGroups[i];
    const next = start.slice();
    const group = new Int32Array(person.length);
    for (let e = 0; e < numGroups; e++) {
      for (let i = ptr[e]; i < ptr[e + 1]; i++) group[next[person[i]]++] = e;
    }
    groupsOfPerson = { start, group };
    return groupsOfPerson;
  }

  // Elements: names only ever become text nodes ///////////////////////////////

  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }
  const el = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

  const count = (value) => value.toLocaleString('en-US');
  const plural = (value, word) => `${count(value)} ${word}${value === 1 ? '' : 's'}`;
  const percent = (value) => `${(100 * value).toFixed(1)}\u00a0%`;
  const decimal = (value, digits = 3) => (Number.isNaN(value) ? '–' : value.toFixed(digits));

  // Isolated, so that a right-to-left name does not turn its neighbours around.
  const label = (text) => el('bdi', { title: text }, text.trim() ? text : '(no name)');
  const personLabel = (number) => (number < 0 ? '–' : label(personId[number]));

  function bar(share, marked, className) {
    const width = Number.isNaN(share) ? 0 : Math.max(0, Math.min(1, share)) * 100;
    return svg(
      'svg',
      { class: className || 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      svg('rect', { class: 'track', width: 100, height: 10, rx: 1 }),
      svg('rect', { class: marked ? 'fill anchor' : 'fill', width: width.toFixed(2), height: 10, rx: 1 }),
    );
  }

  function nameButton(text, action) {
    const button = el('button', { type: 'button', class: 'name' }, label(text));
    button.addEventListener('click', action);
    return button;
  }
  const personButton = (number) => {
    const button = nameButton(personId[number], () => searchFor(personId[number]));
    button.setAttribute('aria-label', `Search for ${personId[number]}`);
    return button;
  };
  const groupButton = (number) => nameButton(groupId[number], () => openGroup(number));

  // Summary ///////////////////////////////////////////////////////////////////

  function showSummary() {
    byId('subtitle').textContent = `${report.model}, tgx_anchor ${report.version}`;
    const tile = (name, value, note) =>
      el('div', {}, el('dt', {}, name), el('dd', { class: 'value' }, value),
        note ? el('dd', { class: 'muted' }, note) : null);
    const tiles = [
      tile('Groups', count(numGroups)),
      tile('People', count(numPeople)),
      tile('Known anchors', count(numKnown), numGroups ? percent(numKnown / numGroups) : null),
      tile('Predicted anchors', count(numPredicted)),
    ];
    const accuracy = report.accuracy;
    tiles.push(accuracy
      ? tile('Expected accuracy', percent(accuracy.value),
        `${percent(accuracy.low)} to ${percent(accuracy.high)}, from ${plural(accuracy.groups, 'held-out group')}`)
      : tile('Expected accuracy', '–', 'needs known groups that are held out'));
    byId('tiles').append(...tiles);
    const warnings = byId('warnings');
    warnings.hidden = report.warnings.length === 0;
    warnings.append(...report.warnings.map((text) => el('li', {}, text)));
  }

  function showStrongest() {
    const value = strength || personAnchored;
    const people = [];
    for (let i = 0; i < numPeople; i++) {
      if (personAnchored[i] > 0 && !Number.isNaN(value[i])) people.push(i);
    }
    people.sort((a, b) => value[b] - value[a] || a - b);
    if (people.length === 0) return;
    let low = strength ? value[people[people.length - 1]] : 0;
    const high = value[people[0]];
    if (high === low) low -= 1;
    byId('strongest-section').hidden = false;
    byId('strongest-title').textContent = strength ? 'Strongest anchors' : 'Most frequent anchors';
    byId('strongest-note').textContent = strength
      ? 'The strength of a person is how much they tend to be the anchor of their groups.'
      : 'People who are the anchor of most groups. This model has no strengths.';
    byId('strongest-value').textContent = strength ? 'Strength' : 'Share';
    byId('strongest').tBodies[0].append(...people.slice(0, STRONGEST).map((i) =>
      el('tr', {},
        el('td', {}, personButton(i)),
        el('td', { class: 'bar-cell' }, bar((value[i] - low) / (high - low), true)),
        el('td', { class: 'number' },
          strength ? decimal(strength[i], 2) : percent(personAnchored[i] / personGroups[i])),
        el('td', { class: 'number' }, count(personGroups[i])),
        el('td', { class: 'number' }, count(personAnchored[i])))));
  }

  function showDoubts() {
    const { group, person: preferred, probability: value, label: given } = report.doubts;
    if (group.length === 0) return;
    byId('doubts-section').hidden = false;
    const row = (i) => el('tr', {},
      el('td', {}, groupButton(group[i])),
      el('td', {}, personLabel(anchor[group[i]])),
      el('td', { class: 'number optional' }, decimal(given[i])),
      el('td', {}, personLabel(preferred[i])),
      el('td', { class: 'number' }, decimal(value[i])));
    const body = byId('doubts').tBodies[0];
    const numbers = group.map((_, i) => i);
    body.append(...numbers.slice(0, DOUBTS).map(row));
    const more = byId('doubts-more');
    if (group.length <= DOUBTS) return;
    more.hidden = false;
    more.textContent = `Show all ${group.length}`;
    more.addEventListener('click', () => {
      body.append(...numbers.slice(DOUBTS).map(row));
      more.hidden = true;
      body.rows[DOUBTS].querySelector('button').focus();
    });
  }

  // Charts ////////////////////////////////////////////////////////////////////

  const CHART = { width: 360, height: 250, left: 46, right: 12, top: 10, bottom: 42 };

  // Counts have whole numbers on their axis.
  function ticks(low, high, isCount) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const round = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const step = isCount ? Math.max(round, 1) : round;
    const values = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
      values.push(Number((i * step).toPrecision(12)));
    }
    return values;
  }

  const tickText = (value) =>
    (value !== 0 && Math.abs(value) < 1e-3 ? value.toPrecision(2) : count(value));

  function chart(name, description, xLabel, yLabel, xRange, yRange, xTicks) {
    const { width, height, left, right, top, bottom } = CHART;
    const x = (value) => left + (value - xRange[0]) / (xRange[1] - xRange[0]) * (width - left - right);
    const y = (value) => height - bottom - (value - yRange[0]) / (yRange[1] - yRange[0]) * (height - top - bottom);
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${name}. ${description}` });
    for (const value of ticks(...yRange, yLabel === 'People')) {
      root.append(
        svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        svg('text', { x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, tickText(value)));
    }
    const names = xTicks || ticks(...xRange).map((value) => [value, tickText(value)]);
    for (const [value, text] of names) {
      root.append(svg('text', { x: x(value), y: height - bottom + 17, 'text-anchor': 'middle' }, text));
    }
    root.append(
      svg('text', { x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle' }, xLabel),
      svg('text', { transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, yLabel));
    byId('charts').append(el('figure', {}, el('figcaption', {}, name), root, el('p', { class: 'muted' }, description)));
    byId('charts-section').hidden = false;
    return { root, x, y };
  }

  function showCalibration() {
    const bins = report.calibration;
    if (!bins) return;
    const total = bins.count.reduce((sum, value) => sum + value, 0);
    const error = bins.count.reduce(
      (sum, value, i) => sum + value * Math.abs(bins.accuracy[i] - bins.probability[i]), 0) / total;
    const { root, x, y } = chart(
      'Calibration',
      `Expected calibration error ${error.toFixed(3)}, in ${plural(bins.count.length, 'bin')} of ${count(total)} held-out groups. ` +
      'On the dashed line, probabilities are as high as the share of right anchors.',
      'Stated probability', 'Share of right anchors', [0, 1], [0, 1]);
    root.append(
      svg('line', { class: 'guide', x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
      svg('polyline', {
        class: 'curve',
        points: bins.probability.map((value, i) => `${x(value).toFixed(1)},${y(bins.accuracy[i]).toFixed(1)}`).join(' '),
      }),
      ...bins.probability.map((value, i) => svg('circle', { class: 'point', cx: x(value), cy: y(bins.accuracy[i]), r: 3.5 },
        svg('title', {}, `Stated ${decimal(value)}, right ${decimal(bins.accuracy[i])}, ${plural(bins.count[i], 'group')}`))));
  }

  function column(root, x, y, low, high, value, text) {
    root.append(svg('rect', {
      class: 'fill', x: x(low) + 1, width: Math.max(x(high) - x(low) - 2, 1), y: y(value), height: y(0) - y(value),
    }, svg('title', {}, text)));
  }

  function showStrengths() {
    const histogram = report.histogram;
    if (!histogram) return;
    const { count: counts, edge } = histogram;
    const total = counts.reduce((sum, value) => sum + value, 0);
    const { root, x, y } = chart(
      'Strengths', `Distribution over ${total === 1 ? 'one person' : `${count(total)} people`} in at least one group.`,
      'Strength', 'People', [edge[0], edge[edge.length - 1]], [0, Math.max(...counts)]);
    counts.forEach((value, i) => column(root, x, y, edge[i], edge[i + 1], value,
      `${edge[i].toFixed(2)} to ${edge[i + 1].toFixed(2)}: ${value} people`));
  }

  function showSizes() {
    const sizes = report.bySize;
    if (!sizes) return;
    const columns = [];
    sizes.size.forEach((value, i) => {
      if (i < SIZES || sizes.size.length === SIZES + 1) {
        columns.push({ name: String(value), right: sizes.accuracy[i] * sizes.count[i], groups: sizes.count[i] });
      } else {
        // Few groups are very large; they share the last column.
        if (i === SIZES) columns.push({ name: `${value}+`, right: 0, groups: 0 });
        columns[SIZES].right += sizes.accuracy[i] * sizes.count[i];
        columns[SIZES].groups += sizes.count[i];
      }
    });
    const { root, x, y } = chart(
      'Accuracy by group size', `Share of right anchors among ${plural(sizes.count.reduce((a, b) => a + b, 0), 'held-out group')}.`,
      'Members', 'Accuracy', [0, columns.length], [0, 1], columns.map((item, i) => [i + 0.5, item.name]));
    columns.forEach((item, i) => column(root, x, y, i + 0.15, i + 0.85, item.right / item.groups,
      `${item.name} members: ${percent(item.right / item.groups)} of ${plural(item.groups, 'group')}`));
  }

  // Table of groups ///////////////////////////////////////////////////////////

  // Digits are padded, so that 'mail-9' comes before 'mail-10'.
  const naturalKey = (text) => text.replace(/\d+/g, (digits) => digits.padStart(12, '0'));

  function ranks(names) {
    const keys = names.map(naturalKey);
    const order = Uint32Array.from(names, (_, i) => i);
    order.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
    const rank = new Float64Array(names.length);
    let level = -1;
    order.forEach((i, place) => {
      if (place === 0 || keys[i] !== keys[order[place - 1]]) level += 1;
      rank[i] = level;
    });
    return rank;
  }
  function once(make) {
    let value = null;
    return () => (value === null ? (value = make()) : value);
  }
  const groupRanks = once(() => ranks(groupSearch));
  const personRanks = once(() => ranks(personSearch));
  const timeRanks = once(() => ranks(groupTime));

  function anchorCell(group) {
    let others = -1;
    for (let i = ptr[group]; i < ptr[group + 1]; i++) others += isAnchor[i];
    const cell = [personLabel(anchor[group])];
    if (others > 0) cell.push(el('span', { class: 'muted' }, ` and ${plural(others, 'other')}`));
    return cell;
  }

  // Each column: its key for sorting (NaN comes last) and its cell.
  const COLUMNS = [
    { name: 'Group', class: 'col-group', key: (e) => groupRanks()[e], cell: (e) => [label(groupId[e])] },
    { name: 'Anchor', class: 'col-anchor', key: (e) => (anchor[e] < 0 ? NaN : personRanks()[anchor[e]]), cell: anchorCell },
    {
      name: 'Probability', class: 'col-probability', number: true, key: (e) => probability[e],
      cell: (e) => [bar(probability[e], true, 'meter'), decimal(probability[e])],
    },
    { name: 'Runner-up', class: 'col-runner', key: (e) => (runnerUp[e] < 0 ? NaN : personRanks()[runnerUp[e]]), cell: (e) => [personLabel(runnerUp[e])] },
    { name: 'Its probability', class: 'col-second', number: true, key: (e) => second[e], cell: (e) => [decimal(second[e])] },
    { name: 'Margin', class: 'col-margin', number: true, key: (e) => margin[e], cell: (e) => [decimal(margin[e])] },
    { name: 'Size', class: 'col-size', number: true, key: size, cell: (e) => [count(size(e))] },
    { name: 'Source', class: 'col-source', key: (e) => known[e], cell: (e) => [el('span', { class: 'tag neutral' }, known[e] ? 'known' : 'predicted')] },
  ];
  if (groupTime) {
    COLUMNS.push({ name: 'Time', class: 'col-time', key: (e) => (groupTime[e] ? timeRanks()[e] : NaN), cell: (e) => [groupTime[e] ? label(groupTime[e]) : '–'] });
  }

  const table = byId('table');
  const state = { column: null, descending: false, page: 0, rows: 25, focus: 0 };
  const identity = Uint32Array.from({ length: numGroups }, (_, i) => i);
  let order = identity;
  let selected = identity;
  let shown = [];

  function sortGroups() {
    if (state.column === null) {
      order = identity;
      return;
    }
    const key = Float64Array.from(identity, COLUMNS[state.column].key);
    const present = identity.filter((e) => !Number.isNaN(key[e]));
    const missing = identity.filter((e) => Number.isNaN(key[e]));
    const sign = state.descending ? -1 : 1;
    present.sort((a, b) => sign * (key[a] - key[b]) || a - b);
    order = new Uint32Array(numGroups);
    order.set(present);
    order.set(missing, present.length);
  }

  function numberOf(id) {
    const field = byId(id);
    return field.value === '' ? null : field.valueAsNumber;
  }

  function filterGroups() {
    const text = byId('search').value.trim().toLowerCase();
    const source = byId('source').value;
    const low = numberOf('probability-low');
    const high = numberOf('probability-high');
    const smallest = numberOf('size-low');
    const largest = numberOf('size-high');
    const exact = text.length > 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : null;
    const hits = (name) => (exact === null ? name.includes(text) : name === exact);
    const found = text && Uint8Array.from(personSearch, hits);
    const matches = (e) => {
      if (hits(groupSearch[e])) return true;
      for (let i = ptr[e]; i < ptr[e + 1]; i++) if (found[person[i]]) return true;
      return false;
    };
    // Probabilities are compared as they are shown, to three digits.
    const keeps = (e) =>
      (source === 'all' || (source === 'known') === (known[e] === 1)) &&
      (low === null || probability[e] >= low - 5e-4) &&
      (high === null || probability[e] < high + 5e-4) &&
      (smallest === null || size(e) >= smallest) &&
      (largest === null || size(e) <= largest) &&
      (!text || matches(e));
    const all = !text && source === 'all' && [low, high, smallest, largest].every((value) => value === null);
    selected = all ? order : order.filter(keeps);
    state.page = 0;
    state.focus = 0;
  }

  const numPages = () => Math.max(1, Math.ceil(selected.length / state.rows));

  function rowOf(group, place) {
    const attributes = {
      tabindex: place === state.focus ? 0 : -1,
      'data-group': group,
      'aria-rowindex': state.page * state.rows + place + 2,
    };
    return el('tr', attributes, ...COLUMNS.map((item) => {
      const className = item.number ? `${item.class} number` : item.class;
      return el('td', { role: 'gridcell', class: className }, ...item.cell(group));
    }));
  }

  function showTable() {
    const start = state.page * state.rows;
    shown = Array.from(selected.subarray(start, start + state.rows));
    state.focus = Math.min(state.focus, Math.max(shown.length - 1, 0));
    const rows = shown.map(rowOf);
    if (rows.length === 0) {
      rows.push(el('tr', {}, el('td', { class: 'empty', colspan: COLUMNS.length }, 'No group matches these filters.')));
    }
    table.tBodies[0].replaceChildren(...rows);
    table.setAttribute('aria-rowcount', selected.length + 1);
    byId('status').textContent = selected.length === numGroups
      ? plural(numGroups, 'group')
      : `${count(selected.length)} of ${plural(numGroups, 'group')}`;
    byId('page').value = state.page + 1;
    byId('page').max = numPages();
    byId('pages').textContent = count(numPages());
    byId('first').disabled = byId('previous').disabled = state.page === 0;
    byId('last').disabled = byId('next').disabled = state.page >= numPages() - 1;
  }

  function showHead(withButtons) {
    const cells = COLUMNS.map((item, i) => {
      const attributes = { scope: 'col', role: 'columnheader', class: item.number ? `${item.class} number` : item.class };
      if (!withButtons) return el('th', attributes, item.name);
      const button = el('button', { type: 'button' }, item.name);
      button.addEventListener('click', () => sortBy(i));
      return el('th', attributes, button);
    });
    table.tHead.replaceChildren(el('tr', {}, ...cells));
    showSorting();
  }

  function showSorting() {
    Array.from(table.tHead.rows[0].cells).forEach((cell, i) => {
      if (i === state.column) cell.setAttribute('aria-sort', state.descending ? 'descending' : 'ascending');
      else cell.removeAttribute('aria-sort');
    });
  }

  function sortBy(column) {
    // Numbers begin with the largest; the third click brings back the given order.
    const first = Boolean(COLUMNS[column].number);
    if (state.column !== column) {
      state.column = column;
      state.descending = first;
    } else if (state.descending === first) {
      state.descending = !first;
    } else {
      state.column = null;
    }
    showSorting();
    sortGroups();
    filterGroups();
    showTable();
  }

  function turnTo(page) {
    state.page = Math.max(0, Math.min(numPages() - 1, page));
    state.focus = 0;
    showTable();
  }

  function focusRow(place) {
    const rows = table.tBodies[0].rows;
    if (rows[state.focus]) rows[state.focus].tabIndex = -1;
    state.focus = place;
    rows[place].tabIndex = 0;
    rows[place].focus();
  }

  function tableKey(event) {
    const row = event.target.closest('tr[data-group]');
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const place = row.sectionRowIndex;
    const last = shown.length - 1;
    const page = state.page;
    const actions = {
      ArrowDown: () => {
        if (place < last) focusRow(place + 1);
        else if (page < numPages() - 1) { turnTo(page + 1); focusRow(0); }
      },
      ArrowUp: () => {
        if (place > 0) focusRow(place - 1);
        else if (page > 0) { turnTo(page - 1); focusRow(shown.length - 1); }
      },
      Home: () => focusRow(0),
      End: () => focusRow(last),
      PageDown: () => { turnTo(page + 1); focusRow(Math.min(place, shown.length - 1)); },
      PageUp: () => { turnTo(page - 1); focusRow(place); },
      Enter: () => openGroup(shown[place]),
      ' ': () => openGroup(shown[place]),
    };
    if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  function searchFor(text) {
    opened = -1;
    detail.close();
    byId('filters').reset();
    byId('search').value = `"${text}"`;
    filterGroups();
    showTable();
    byId('groups').scrollIntoView();
    byId('search').focus({ preventScroll: true });
  }

  // One group /////////////////////////////////////////////////////////////////

  const detail = byId('detail');
  let opened = -1;
  let opener = null;

  function membersOf(group) {
    const members = [];
    for (let i = ptr[group]; i < ptr[group + 1]; i++) members.push(i);
    members.sort((a, b) => score[b] - score[a] || a - b);
    return members;
  }

  function neighboursOf(group) {
    const { start, group: groups } = personIndex();
    const shared = new Map();
    for (let i = ptr[group]; i < ptr[group + 1]; i++) {
      for (let j = start[person[i]]; j < start[person[i] + 1]; j++) {
        shared.set(groups[j], (shared.get(groups[j]) || 0) + 1);
      }
    }
    shared.delete(group);
    return Array.from(shared).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  function memberTable(group) {
    const members = membersOf(group);
    const rows = members.slice(0, MEMBERS).map((i) => el('tr', { class: isAnchor[i] ? 'is-anchor' : null },
      el('td', {}, personButton(person[i]),
        isAnchor[i] ? el('span', { class: 'tag' }, known[group] ? 'known anchor' : 'anchor') : null),
      el('td', { class: 'bar-cell' }, bar(score[i], isAnchor[i])),
      el('td', { class: 'number' }, decimal(score[i])),
      strength ? el('td', { class: 'number strength-cell' }, decimal(strength[person[i]], 2)) : null,
      el('td', { class: 'number' }, count(personGroups[person[i]]))));
    const head = [
      el('th', { scope: 'col' }, 'Member'),
      el('th', { scope: 'col', class: 'bar-head' }, el('span', { class: 'hidden' }, 'Bar')),
      el('th', { scope: 'col', class: 'number' }, 'Score'),
      strength ? el('th', { scope: 'col', class: 'number strength-cell' }, 'Strength') : null,
      el('th', { scope: 'col', class: 'number' }, 'Groups'),
    ];
    const parts = [el('table', { id: 'members' }, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...rows))];
    if (members.length > MEMBERS) {
      parts.push(el('p', { class: 'muted' }, `${count(members.length - MEMBERS)} more members with lower scores.`));
    }
    return parts;
  }

  function neighbourTable(group) {
    const neighbours = neighboursOf(group);
    if (neighbours.length === 0) return [el('p', { class: 'muted' }, 'No other group shares a member with this one.')];
    const rows = neighbours.slice(0, NEIGHBOURS).map(([other, shared]) => el('tr', {},
      el('td', {}, groupButton(other)),
      el('td', {}, ...anchorCell(other)),
      el('td', { class: 'number' }, decimal(probability[other])),
      el('td', { class: 'number' }, `${shared} of ${size(other)}`)));
    const heading = neighbours.length > NEIGHBOURS
      ? `The ${NEIGHBOURS} that share most members, of ${count(neighbours.length)}.`
      : `${plural(neighbours.length, 'group')} that share members.`;
    return [
      el('p', { class: 'muted' }, heading),
      el('table', { id: 'neighbours' },
        el('thead', {}, el('tr', {},
          el('th', { scope: 'col' }, 'Group'), el('th', { scope: 'col' }, 'Anchor'),
          el('th', { scope: 'col', class: 'number' }, 'Probability'), el('th', { scope: 'col', class: 'number' }, 'Shared'))),
        el('tbody', {}, ...rows)),
    ];
  }

  function openGroup(group) {
    opened = group;
    byId('detail-title').replaceChildren('Group ', label(groupId[group]));
    const facts = [known[group] ? 'The anchor was known beforehand; the scores are those of the model.' : 'The anchor is predicted.',
      `${plural(size(group), 'member')}.`];
    if (groupTime && groupTime[group]) facts.push(`Time: ${groupTime[group]}.`);
    const reasons = report.reasons[group];
    const parts = [el('p', { class: 'muted' }, facts.join(' '))];
    if (size(group) > 0) parts.push(...memberTable(group));
    if (reasons && reasons.length > 0) {
      parts.push(el('h3', {}, 'Reasons'), el('ul', { class: 'reasons' }, ...reasons.map((text) => el('li', {}, text))));
    }
    parts.push(el('h3', {}, 'Neighbouring groups'), ...neighbourTable(group));
    byId('detail-body').replaceChildren(...parts);
    const place = selected.indexOf(group);
    byId('detail-previous').disabled = place <= 0;
    byId('detail-next').disabled = place < 0 || place >= selected.length - 1;
    history.replaceState(null, '', `#group-${group}`);
    if (!detail.open) {
      opener = document.activeElement;
      detail.showModal();
    }
    detail.scrollTop = 0;
  }

  function step(by) {
    const place = selected.indexOf(opened) + by;
    if (place < 0 || place >= selected.length) return;
    // The table follows, so that closing leads back to the group last seen.
    state.page = Math.floor(place / state.rows);
    state.focus = place % state.rows;
    showTable();
    openGroup(selected[place]);
  }

  function closed() {
    history.replaceState(null, '', location.pathname + location.search);
    // The browser returns to the opener, unless the table was drawn anew meanwhile.
    const place = shown.indexOf(opened);
    if (place >= 0 && !opener.isConnected) focusRow(place);
    opened = -1;
  }

  function openFromHash() {
    const match = /^#group-(\d+)$/.exec(location.hash);
    if (match && Number(match[1]) < numGroups) openGroup(Number(match[1]));
  }

  // Events ////////////////////////////////////////////////////////////////////

  function listen() {
    const refresh = () => { filterGroups(); showTable(); };
    byId('filters').addEventListener('input', refresh);
    byId('filters').addEventListener('submit', (event) => event.preventDefault());
    byId('filters').addEventListener('reset', () => setTimeout(refresh));
    byId('first').addEventListener('click', () => turnTo(0));
    byId('previous').addEventListener('click', () => turnTo(state.page - 1));
    byId('next').addEventListener('click', () => turnTo(state.page + 1));
    byId('last').addEventListener('click', () => turnTo(numPages() - 1));
    byId('page').addEventListener('change', (event) => turnTo((event.target.valueAsNumber || 1) - 1));
    byId('rows').addEventListener('change', (event) => {
      const top = state.page * state.rows;
      state.rows = Number(event.target.value);
      turnTo(Math.floor(top / state.rows));
    });
    table.addEventListener('keydown', tableKey);
    table.tBodies[0].addEventListener('click', (event) => {
      const row = event.target.closest('tr[data-group]');
      // Selecting text with the mouse is no click.
      if (!row || String(getSelection())) return;
      focusRow(row.sectionRowIndex);
      openGroup(Number(row.dataset.group));
    });
    byId('detail-close').addEventListener('click', () => detail.close());
    byId('detail-previous').addEventListener('click', () => step(-1));
    byId('detail-next').addEventListener('click', () => step(1));
    detail.addEventListener('close', closed);
    detail.addEventListener('click', (event) => { if (event.target === detail) detail.close(); });
    addEventListener('hashchange', openFromHash);
    addEventListener('beforeprint', () => {
      // Chromium repeats a heading on each sheet only if it holds no buttons.
      showHead(false);
      shown = Array.from(selected.subarray(0, PRINTED));
      table.tBodies[0].replaceChildren(...shown.map(rowOf));
      byId('status').textContent = selected.length > PRINTED
        ? `The first ${PRINTED} of ${plural(selected.length, 'group')}.`
        : `${plural(selected.length, 'group')}.`;
    });
    addEventListener('afterprint', () => { showHead(true); showTable(); });

    const theme = byId('theme');
    const systemDark = matchMedia('(prefers-color-scheme: dark)');
    const isDark = () => (document.documentElement.dataset.theme || (systemDark.matches ? 'dark' : 'light')) === 'dark';
    const showTheme = () => theme.setAttribute('aria-pressed', String(isDark()));
    theme.addEventListener('click', () => {
      document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
      showTheme();
    });
    systemDark.addEventListener('change', showTheme);
    showTheme();
  }

  showSummary();
  showStrongest();
  showCalibration();
  showStrengths();
  showSizes();
  showDoubts();
  showHead(true);
  showTable();
  listen();
  openFromHash();
  performance.mark('report-ready');
})();
