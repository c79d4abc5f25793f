// Keeps a page up to date: times count on, regions marked data-live follow the server, an agent's words appear as
// they come. Nothing here is needed to use the page; without it a reload shows the same.
"use strict";

const REFRESH_APART_MS = 400;
const LOG_LINES_MAX = 1000;
const ANNOUNCE_CHARACTERS = 200;
const TICK_MS = 1000;

// --- times -------------------------------------------------------------------------------------

function span(seconds) {
  seconds = Math.max(seconds, 0);
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  const minutes = Math.floor(whole / 60), hours = Math.floor(whole / 3600), days = Math.floor(whole / 86400);
  if (minutes < 60) return `${minutes} min`;
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

function tick(root) {
  const now = Date.now() / 1000;
  for (const time of root.querySelectorAll("time[data-at]")) {
    const bare = time.closest("[data-bare]");
    write(time, span(now - Number(time.dataset.at)) + (bare ? "" : " ago"));
  }
  for (const time of root.querySelectorAll("time[data-until]")) write(time, span(Number(time.dataset.until) - now));
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// --- bringing a page up to date in place ---------------------------------------------------------

const key = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset?.key || node.id || "" : "");
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.hasAttribute("data-keep")) return;  // it is written to by somebody else
  const opened = old.nodeName === "DETAILS";  // what a person opened stays open
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !(opened && name === "open")) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value && !(opened && name === "open")) old.setAttribute(name, value);
  children(old, fresh);
}

function children(old, fresh) {
  const named = new Map([...old.children].filter(key).map((child) => [key(child), child]));
  const wasFilled = named.size > 0;
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = key(child) && named.get(key(child));
    if (known && alike(known, child)) {
      if (known !== at) old.insertBefore(known, at);
      else at = at.nextSibling;
      morph(known, child);
    } else if (at && !key(at) && alike(at, child)) {
      const here = at;
      at = at.nextSibling;
      morph(here, child);
    } else {
      const added = document.importNode(child, true);
      if (wasFilled && key(child) && child.tagName !== "SECTION") added.classList.add("fresh");
      old.insertBefore(added, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

let refreshing = false, wanted = false;

async function refresh() {
  if (refreshing) {
    wanted = true;
    return;
  }
  refreshing = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
    if (answer.ok) replaceWith(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    setLine("lost");
  } finally {
    setTimeout(() => {
      refreshing = false;
      if (wanted) {
        wanted = false;
        refresh();
      }
    }, REFRESH_APART_MS);
  }
}

function replaceWith(page) {
  tick(page);
  for (const region of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(region.id);
    if (!fresh) continue;
    const before = region.hasAttribute("data-announce") ? spoken(region) : null;
    morph(region, fresh);
    if (before !== null && before !== spoken(region)) announce(spoken(region));
  }
  follow();
}

function spoken(region) {
  const current = region.querySelector("[aria-current]") || region;
  return current.textContent.replace(/\s+/g, " ").trim().slice(0, ANNOUNCE_CHARACTERS);
}

function announce(text) {
  document.getElementById("announcer").textContent = text;
}

// --- the line to the server; cut while nobody looks ------------------------------------------------

let line = null, stream = null, streamed = "";

function setLine(state) {
  const words = { on: "live", lost: "trying…", off: "paused" };
  const element = document.getElementById("line");
  element.dataset.line = state;
  write(element.querySelector("span"), words[state]);
}

function listen() {
  const topics = (document.body.dataset.topics || "").split(" ").filter(Boolean);
  if (!topics.length) {
    document.getElementById("line").hidden = true;
    return;
  }
  let heardBefore = false;
  line = new EventSource("/events");
  line.addEventListener("ready", () => {
    setLine("on");
    if (heardBefore) refresh();  // something may have happened while the line was lost
    heardBefore = true;
  });
  line.addEventListener("changed", (event) => {
    if (JSON.parse(event.data).topics.some((topic) => topics.includes(topic))) refresh();
  });
  line.onerror = () => setLine("lost");
}

function hangUp() {
  line?.close();
  stream?.close();
  line = stream = null;
  streamed = "";
  setLine("off");
}

// --- an agent's words --------------------------------------------------------------------------------

function follow() {
  const log = document.querySelector("[data-stream]");
  const job = log?.dataset.stream.split("?")[0] || "";
  if (!log || streamed === job) return;
  stream?.close();
  streamed = job;
  stream = new EventSource(`${job}?after=${log.dataset.last || new URLSearchParams(log.dataset.stream.split("?")[1]).get("after")}`);
  stream.addEventListener("agent", (event) => tell(log, JSON.parse(event.data)));
  stream.addEventListener("ended", () => {
    stream.close();
    refresh();
  });
}

function tell(log, event) {
  if (event.number <= Number(log.dataset.last || 0)) return;
  const pinned = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const item = document.createElement("li");
  item.className = `e-${event.kind} fresh`;
  for (const [name, text] of [["kind", event.kind], ["text", event.text]]) {
    const part = document.createElement("span");
    part.className = name;
    part.textContent = text;
    item.append(part);
  }
  const list = log.querySelector("ol");
  list.append(item);
  log.dataset.last = event.number;
  while (list.children.length > LOG_LINES_MAX) list.firstElementChild.remove();
  if (pinned) log.scrollTop = log.scrollHeight;
}

// --- a file that is too large: said before it is sent, so that the words in the form are not lost -----------

for (const file of document.querySelectorAll("input[data-megabytes]")) {
  const most = Number(file.dataset.megabytes);
  file.addEventListener("change", () => {
    const large = file.files[0]?.size > most * 1024 * 1024;
    file.setCustomValidity(large ? `A file has at most ${most} MB. Choose a smaller one, or none.` : "");
    file.reportValidity();
  });
}

// --- begin ---------------------------------------------------------------------------------------------

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return hangUp();
  refresh();
  listen();
  follow();
});
setInterval(() => document.hidden || tick(document), TICK_MS);
const tabs = document.querySelector(".bar nav ul");
const here = tabs?.querySelector("[aria-current]");
// Not scrollIntoView: the next Tab would start from there, behind the link that skips to the content.
if (here) tabs.scrollLeft += Math.max(0, here.getBoundingClientRect().right - tabs.getBoundingClientRect().right);
for (const picture of document.querySelectorAll(".picture")) picture.scrollLeft = picture.scrollWidth;  // to now
for (const log of document.querySelectorAll(".log")) log.scrollTop = log.scrollHeight;
if (new URLSearchParams(location.search).has("notice")) {  // shown once, not at every reload
  const address = new URL(location.href);
  address.searchParams.delete("notice");
  history.replaceState(null, "", address);
}
if (!document.hidden) {
  listen();
  follow();
}
