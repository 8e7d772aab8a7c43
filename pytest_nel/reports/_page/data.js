// The samples: an index that is there at once, texts that are unpacked block by block.

const $ = (id) => document.getElementById(id);
const read = (id) => JSON.parse($(id).textContent);
const meta = $('nel-meta') ? read('nel-meta') : { sets: [], block: 1 };
const PAUSE = 12; // milliseconds of work after which the page may do something else

async function unpack(id) {
  const node = $(id);
  const packed = atob(JSON.parse(node.textContent));
  node.remove(); // the page need not hold it twice
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i += 1) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

const pause = () => new Promise((done) => { setTimeout(done, 0); });

const index = { columns: null, flips: [], size: 0 };
const blocks = [];
const waiting = new Map();

async function readIndex() {
  const found = await unpack('nel-index');
  index.flips = found.flips;
  delete found.flips;
  index.columns = found;
  index.size = found.set.length;
}

// The texts of a row, or null where its block was not unpacked yet.
function textNow(row) {
  const block = blocks[Math.floor(row / meta.block)];
  return block ? block[row % meta.block] : null;
}

async function textOf(row) {
  const number = Math.floor(row / meta.block);
  if (!blocks[number]) {
    if (!waiting.has(number)) waiting.set(number, openBlock(number));
    await waiting.get(number);
  }
  return textNow(row);
}

async function openBlock(number) {
  if (document.readyState === 'loading') { // blocks stand at the end of the file
    await new Promise((done) => { document.addEventListener('DOMContentLoaded', done, { once: true }); });
  }
  const entries = await unpack(`nel-block-${number}`);
  let prompt;
  for (const entry of entries) {
    if (entry.p === 0) entry.p = prompt; else prompt = entry.p;
  }
  blocks[number] = entries;
}

async function openAll() {
  for (let row = 0; row < index.size; row += meta.block) {
    await textOf(row);
    await pause();
  }
  document.documentElement.dataset.texts = String(Math.round(performance.now()));
}
