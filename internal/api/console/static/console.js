// Keeps a page up to date: when the server says that its operation has changed, the page is fetched once more and the parts
// marked data-live take the place of those that are there. Without this script the page is reloaded by hand.
"use strict";
(() => {
  const body = document.body;
  let busy = false, again = false;

  // Times are UTC in the page and local in the window. The title of each keeps the other.
  const two = (n) => String(n).padStart(2, "0");
  function localize(root) {
    for (const e of root.querySelectorAll("time[datetime]")) {
      const t = new Date(e.dateTime);
      if (isNaN(t)) continue;
      e.title = e.textContent + " UTC";
      e.textContent = `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
    }
    const zone = root.querySelector("#zone");
    if (zone) zone.textContent = "local, " + Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
  localize(document);

  // A log shows its end, and stays there as it grows, unless the reader has scrolled up.
  const atEnd = (e) => e.scrollHeight - e.scrollTop - e.clientHeight < 24;
  const toEnd = (e) => { e.scrollTop = e.scrollHeight; };
  document.querySelectorAll("[data-follow]").forEach(toEnd);

  // What came in answer to a form, or with a notice, is not to be asked for once more in the same way.
  if (body.dataset.page) history.replaceState(null, "", body.dataset.page + location.hash);

  // A form that is being sent is not sent once more.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => { delete form.dataset.sent; }, 5000);
  });

  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const reply = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (!reply.ok || reply.redirected) return;
      const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
      localize(fresh);
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
        if (!other || other.innerHTML === part.innerHTML) continue;
        // What the reader has opened stays open, and what has the focus keeps it.
        const open = [...part.querySelectorAll("details")].map((d) => d.open);
        const focus = part.contains(document.activeElement) ? place(part, document.activeElement) : -1;
        const scroll = [...part.querySelectorAll(".wide")].map((w) => w.scrollLeft);
        const log = part.querySelector("[data-follow]"), top = log && !atEnd(log) ? log.scrollTop : -1;
        part.replaceChildren(...other.childNodes);
        part.querySelectorAll("[data-follow]").forEach((e) => { if (top < 0) toEnd(e); else e.scrollTop = top; });
        part.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
        part.querySelectorAll(".wide").forEach((w, i) => { w.scrollLeft = scroll[i] ?? 0; });
        if (focus >= 0) part.querySelectorAll("a, button, summary, [tabindex]")[focus]?.focus({ preventScroll: true });
      }
      const time = fresh.querySelector("footer time");
      if (time) document.querySelector("footer time")?.replaceWith(time);
      return fresh;
    } catch {
      // The server does not answer for a moment: its next event tries again.
    } finally {
      busy = false;
      if (again) {
        again = false;
        setTimeout(refresh, 500);
      }
    }
  }

  const place = (part, element) => [...part.querySelectorAll("a, button, summary, [tabindex]")].indexOf(element);

  // load asks for the page as a whole, and never by the form that it may be the answer to.
  const load = () => { if (body.dataset.page) location.replace(location.href.split("#")[0]); else location.reload(); };

  const filling = () => [...document.querySelectorAll("form.stacked")].some((f) => f.closest("details[open]"));

  if (body.dataset.stream && window.EventSource) {
    const live = document.getElementById("live");
    let said = "", stream, ended = false, waits;
    const say = (text) => { if (live && text !== said) live.textContent = said = text; };
    const word = (event) => JSON.parse(event.data).status;
    const listen = () => {
      clearTimeout(waits);
      if (ended || document.hidden || stream?.readyState < EventSource.CLOSED) return;
      stream = new EventSource(body.dataset.stream);
      stream.addEventListener("begin", (event) => say("Kept up to date: " + word(event) + "."));
      stream.addEventListener("change", (event) => { say("Kept up to date: " + word(event) + "."); refresh(); });
      stream.addEventListener("tick", refresh);
      stream.addEventListener("end", (event) => {
        ended = true;
        stream.close();
        say("Ended: " + word(event) + ".");
        // Other actions are offered now, unless the reader is in the middle of one.
        if (filling()) refresh(); else setTimeout(load, 300);
      });
      stream.addEventListener("error", () => {
        say("Not connected: this page may be out of date.");
        // A browser tries again by itself after a break, and not after an answer such as "too many": then this page does.
        if (stream.readyState === EventSource.CLOSED) waits = setTimeout(() => { refresh(); listen(); }, 10_000);
      });
    };
    // A browser has few connections to one server. A page that nobody sees gives its own back.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) {
        clearTimeout(waits);
        stream?.close();
      } else if (!ended) {
        refresh();
        listen();
      }
    });
    listen();
  } else if (body.dataset.refresh) {
    setInterval(() => { if (!document.hidden) refresh(); }, 5000);
  }
})();
