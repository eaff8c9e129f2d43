// A browser that does what it is told: each line of standard input is a command, {"do": NAME, ...}, and each is answered by a line,
// {"value": ...} or {"error": TEXT}. The folder with playwright-core and axe-core is the first argument, the browser the second, and
// the proxy for whatever does not go to this machine the third. It ends with its standard input.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

const [folder, browserPath, proxy] = process.argv.slice(2);
const { chromium } = require(path.join(folder, 'node_modules', 'playwright-core'));
const axe = fs.readFileSync(path.join(folder, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

const patience = 60_000; // milliseconds

let context, page;
let seen = []; // errors that the page made, and what it asked for

async function begin(c) {
  const browser = await chromium.launch({
    executablePath: browserPath,
    headless: true,
    proxy: { server: proxy, bypass: '127.0.0.1' },
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--hide-scrollbars'],
  });
  await open(c, true, browser);
  return browser.version();
}

// open opens a window in place of the one that is open, whose sessions it has.
async function open({ width, height, zone = 'UTC' }, scripts, browser) {
  const storageState = await context?.storageState();
  browser ??= context.browser();
  await context?.close();
  context = await browser.newContext({
    viewport: { width, height }, timezoneId: zone, colorScheme: 'light', reducedMotion: 'reduce', javaScriptEnabled: scripts, storageState,
  });
  context.setDefaultTimeout(patience);
  context.on('request', (r) => seen.push({ kind: 'request', text: r.url() }));
  context.on('requestfailed', (r) => seen.push({ kind: 'failed', text: `${r.url()}: ${r.failure().errorText}` }));
  page = await context.newPage();
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && seen.push({ kind: 'console', text: m.text(), at: m.location().url }));
  page.on('pageerror', (e) => seen.push({ kind: 'error', text: String(e) }));
}

// until polls a function of the page; it returns what that returns once it is true.
async function until(what, f, arg) {
  for (const end = Date.now() + patience; ;) {
    // While a page gives way to another there is nothing to ask.
    const value = await page.evaluate(f, arg).catch((e) => {
      if (!/context was destroyed|navigat/i.test(e.message)) throw e;
    });
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited a minute in vain until ${what}; ${page.url()} says:\n${await text()}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const text = () => page.evaluate(() => document.body.innerText);

// stops lists what the Tab key comes to from the beginning of the page: what it is called, and whether one sees that it has focus.
async function stops({ limit }) {
  await page.evaluate(() => { document.activeElement.blur(); window.getSelection().removeAllRanges(); window.scrollTo(0, 0); });
  await page.evaluate(() => { document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); });
  const found = [];
  while (found.length < limit) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => {
      const e = document.activeElement;
      if (e === document.body || e === document.documentElement || e.dataset.seen) return null;
      e.dataset.seen = 'yes';
      const style = getComputedStyle(e);
      const visible = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
      return { name: (e.getAttribute('aria-label') || e.textContent || e.name || '').trim(), tag: e.localName, visible };
    });
    if (!stop) break;
    found.push(stop);
  }
  const missed = await page.evaluate(() => {
    const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')];
    const missed = all.filter((e) => !e.dataset.seen && !e.disabled && e.checkVisibility()
      && !(e.type === 'radio' && document.querySelector(`input[name="${e.name}"][data-seen]`)));
    all.forEach((e) => delete e.dataset.seen);
    return missed.map((e) => e.outerHTML.slice(0, 200));
  });
  return { found, missed };
}

// reach presses Tab until the focus is on the first element of the role and name, which has to be seen on the page. A role that ends
// in > is a selector, and the name a text within what that finds.
async function reach({ role, name }) {
  const found = (role.endsWith('>')
    ? page.locator(role.slice(0, -1), { hasText: name })
    : page.getByRole(role, { name, exact: true })).first();
  await found.waitFor();
  let element = await found.elementHandle();
  for (let i = 0; i < 2000; i++) {
    if (await element.evaluate((e) => e === document.activeElement)) return i;
    if (!await element.evaluate((e) => e.isConnected)) element = await found.elementHandle(); // a live page has replaced it
    await page.keyboard.press('Tab');
  }
  throw new Error(`the Tab key does not come to the ${role} ${name} of ${page.url()}`);
}

const commands = {
  begin,
  open: async ({ url }) => {
    const response = await page.goto(url);
    return { status: response.status(), url: page.url() };
  },
  // from goes to an address by a link on a page of another site.
  from: async ({ url }) => {
    await page.goto('about:blank');
    await page.setContent('<a>there</a>');
    await page.evaluate((url) => { document.querySelector('a').href = url; }, url);
    await page.click('a');
    await page.waitForURL((now) => now.protocol === 'http:');
  },
  // crowd opens pages in the background, each once the one before is there, and returns how many came. Each is told what a
  // browser tells a page that nobody sees any more: without a screen this one does not.
  crowd: async ({ url, count }) => {
    const pages = [];
    try {
      for (; pages.length < count;) {
        const one = await context.newPage();
        pages.push(one);
        await one.goto(url, { timeout: 20_000 });
        await one.waitForFunction(() => document.getElementById('live').textContent !== '', undefined, { timeout: 20_000 });
        await one.evaluate(() => {
          Object.defineProperty(document, 'hidden', { value: true });
          document.dispatchEvent(new Event('visibilitychange'));
        });
      }
      return pages.length;
    } catch {
      return pages.length - 1;
    } finally {
      await Promise.all(pages.map((one) => one.close()));
    }
  },
  reload: async () => { await page.reload(); },
  url: () => page.url(),
  text,
  html: () => page.content(),
  // says waits until the page, or what a selector finds in it, has the text.
  says: ({ want, within }) => until(`${want} is there`, ([want, within]) =>
    [...document.querySelectorAll(within || 'body')].some((e) => (e.innerText ?? e.textContent).includes(want)), [want, within]),
  attribute: ({ within, name }) => page.locator(within).first().getAttribute(name),
  stops,
  reach,
  // follow goes to a link or button by keyboard, and presses Enter there; it waits for the page that this leads to.
  follow: async (c) => {
    await reach(c);
    await Promise.all([page.waitForEvent('framenavigated'), page.keyboard.press('Enter')]);
    await page.waitForLoadState();
    return page.url();
  },
  // unfold goes to a summary by keyboard and opens what it is of.
  unfold: async ({ name }) => { await reach({ role: 'summary>', name }); await page.keyboard.press('Enter'); },
  press: async ({ key }) => { await page.keyboard.press(key); },
  type: async ({ want }) => { await page.keyboard.type(want); },
  focused: () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id),
  // mark leaves something on the page that is gone once it is loaded anew, and marked tells whether it is there.
  mark: async () => { await page.evaluate(() => { window.marked = true; }); },
  marked: () => page.evaluate(() => window.marked === true),
  // post sends a form with the session's cookie and other fields.
  post: ({ url, fields, headers }) => context.request.post(url, { form: fields, headers, maxRedirects: 0 })
    .then(async (r) => ({ status: r.status(), text: await r.text() })),
  scheme: async ({ want }) => { await page.emulateMedia({ colorScheme: want }); },
  // axe returns what the checks of axe-core find that is serious or worse: all of them, or only those named.
  axe: async ({ only }) => {
    if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(axe);
    const result = await page.evaluate((only) => window.axe.run(document, {
      resultTypes: ['violations'], ...(only && { runOnly: { type: 'rule', values: only } }),
    }), only);
    return {
      checked: result.passes.length,
      violations: result.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
        .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`),
    };
  },
  // overflow is by how many pixels the page is wider than the window, and which elements are.
  overflow: () => page.evaluate(() => {
    const width = document.documentElement.clientWidth, over = document.documentElement.scrollWidth - width;
    if (over <= 0) return '';
    const wide = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > width);
    return `${over} pixels: ${wide.slice(0, 5).map((e) => e.outerHTML.slice(0, 100)).join(' | ')}`;
  }),
  // inside says whether the first element that a selector finds, and that is shown, is as wide as the window allows.
  inside: ({ within }) => page.evaluate((within) => {
    const e = [...document.querySelectorAll(within)].find((e) => e.checkVisibility());
    const r = e?.getBoundingClientRect();
    return Boolean(r) && r.width > 0 && r.left >= 0 && r.right <= document.documentElement.clientWidth;
  }, within),
  shot: async ({ file }) => {
    await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
    await page.screenshot({ path: file, animations: 'disabled' });
  },
  // cost is what a page took: milliseconds until it was loaded, as the browser measures, bytes of its document, elements in it.
  cost: () => page.evaluate(() => {
    const [n] = performance.getEntriesByType('navigation');
    return {
      answer: n.responseStart - n.startTime, load: n.loadEventEnd - n.startTime, bytes: n.decodedBodySize,
      nodes: document.querySelectorAll('*').length,
    };
  }),
  // seen returns what the browser has asked for and complained about since the last time.
  seen: () => { const all = seen; seen = []; return all; },
  // without opens the window anew, in which no script runs; with one in which they do.
  without: (c) => open(c, false),
  with: (c) => open(c, true),
};

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    let answer;
    try {
      answer = { value: await commands[command.do](command) };
    } catch (e) {
      answer = { error: String(e.stack || e) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  await context?.browser().close();
})();
