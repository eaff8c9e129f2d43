// Keeps a page up to date: when the server says that its operation has changed, the page is fetched once more and the parts
// marked data-live take the place of those that are there. Without this script, or a stream, the page is reloaded by hand.
"use strict";
(() => {
  const body = document.body;
  let busy = false, again = false;

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
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
        if (!other || other.innerHTML === part.innerHTML) continue;
        // What the reader has opened stays open, and what has the focus keeps it.
        const open = [...part.querySelectorAll("details")].map((d) => d.open);
        const focus = part.contains(document.activeElement) ? place(part, document.activeElement) : -1;
        const scroll = [...part.querySelectorAll(".wide")].map((w) => w.scrollLeft);
        part.replaceChildren(...other.childNodes);
        part.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
        part.querySelectorAll(".wide").forEach((w, i) => { w.scrollLeft = scroll[i] ?? 0; });
        if (focus >= 0) part.querySelectorAll("a, button, summary, [tabindex]")[focus]?.focus({ preventScroll: true });
      }
      const time = fresh.querySelector("footer time");
      if (time) document.querySelector("footer time")?.replaceWith(time);
      return fresh;
    } catch {
      // The server is away for a moment: the next word of it tries again.
    } finally {
      busy = false;
      if (again) {
        again = false;
        setTimeout(refresh, 500);
      }
    }
  }

  const place = (part, element) => [...part.querySelectorAll("a, button, summary, [tabindex]")].indexOf(element);

  const filling = () => [...document.querySelectorAll("form.stacked")].some((f) => f.closest("details[open]"));

  if (body.dataset.stream && window.EventSource) {
    const live = document.getElementById("live");
    const stream = new EventSource(body.dataset.stream);
    let said = "";
    const say = (text) => { if (live && text !== said) live.textContent = said = text; };
    const word = (event) => JSON.parse(event.data).status;
    stream.addEventListener("begin", (event) => say("Kept up to date: " + word(event) + "."));
    stream.addEventListener("change", (event) => { say("Kept up to date: " + word(event) + "."); refresh(); });
    stream.addEventListener("tick", refresh);
    stream.addEventListener("end", (event) => {
      stream.close();
      say("Ended: " + word(event) + ".");
      // Other actions are offered now, unless the reader is in the middle of one.
      if (filling()) refresh(); else setTimeout(() => location.reload(), 300);
    });
    stream.addEventListener("error", () => say("Not connected: this page may be out of date."));
  } else if (body.dataset.refresh) {
    setInterval(() => { if (!document.hidden) refresh(); }, 5000);
  }
})();
