'use strict';

// What a handler has left running in this process when it returned: whatever keeps the event loop alive. It is told with
// the result, in the header HEADER, and once more when it has ended.

const http = require('node:http');

const HEADER = 'Pintle-Working';
const LOOK = 500; // ms between two looks
const request = http.request; // whatever the handler's libraries put in its place

// Standard output and error are no work, and what is over in the next turn of the loop is none yet.
const ignored = new Set(['PipeWrap', 'TTYWrap', 'Immediate', 'TickObject', 'CloseReq']);

// resources returns how many there are of each kind that keeps the loop alive. Node 17.3 and later can tell.
function resources() {
  const counts = new Map();
  if (typeof process.getActiveResourcesInfo !== 'function') return counts;
  for (const kind of process.getActiveResourcesInfo()) {
    if (!ignored.has(kind)) counts.set(kind, (counts.get(kind) || 0) + 1);
  }
  return counts;
}

// left describes what there is more of than before; empty for nothing. own is how many connections of ours are among it.
function left(before, own) {
  const more = [];
  for (const [kind, count] of resources()) {
    const n = count - (before.get(kind) || 0) - (kind === 'TCPSocketWrap' ? own : 0);
    if (n > 0) more.push(n + ' ' + kind);
  }
  return more.length > 0 ? 'open in its event loop: ' + more.join(', ') : '';
}

// watch tells when nothing is left. waits says whether the runtime waits for the next event, on a connection of ours.
function watch(before, waits, host, port, path) {
  const timer = setInterval(() => {
    if (left(before, waits() ? 1 : 0)) return;
    clearInterval(timer);
    const told = request({host, port, path, method: 'POST', agent: false, headers: {'Content-Length': 0}}, (answer) => answer.resume());
    told.on('error', () => {}); // this process is being ended
    told.end();
  }, LOOK);
  timer.unref();
}

module.exports = {HEADER, resources, left, watch};
