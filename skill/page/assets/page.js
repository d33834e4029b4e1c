// Updates the page when the server sends a change, and sends forms with the key in a header.
// Without this script, a reload of the page shows changes, and forms work.
"use strict";

const main = document.getElementById("main");
const status = document.getElementById("stream");
const at = document.body.dataset.stream;
const seen = new Map(); // the last HTML from the server, by part; the reader may have opened or closed the part

const parts = (root) => root.querySelectorAll("[data-live], [data-list]");
const key = (item) => item.id || item.outerHTML;

function remember(root) {
  for (const part of parts(root)) {
    seen.set(part.id, part.innerHTML);
    if ("list" in part.dataset) for (const item of part.children) seen.set(key(item), item.outerHTML);
  }
}

// merge changes, adds and removes items of a list. It does not touch the other items.
function merge(list, fresh) {
  const kept = new Set();
  const had = new Map([...list.children].map((old) => [key(old), old]));
  let at = list.firstElementChild;
  for (const item of [...fresh.children]) {
    let have = had.get(key(item)) || item;
    if (have !== item && seen.get(key(item)) !== item.outerHTML) {
      if (have === at) at = item;
      seen.set(key(item), item.outerHTML);
      have.replaceWith(item);
      have = item;
    }
    kept.add(have);
    if (have === at) at = at.nextElementSibling;
    else {
      seen.set(key(item), item.outerHTML);
      list.insertBefore(have, at);
    }
  }
  for (const old of [...list.children]) if (!kept.has(old)) old.remove();
}

function update(html) {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const focused = document.activeElement && document.activeElement.id;
  const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 80;
  const same = [...parts(main)].map((part) => part.id).join() === [...parts(fresh.content)].map((part) => part.id).join();
  if (!same) {
    main.replaceChildren(fresh.content);
    remember(main);
  } else {
    for (const part of parts(fresh.content)) {
      if (seen.get(part.id) === part.innerHTML) continue;
      seen.set(part.id, part.innerHTML);
      const old = document.getElementById(part.id);
      if ("list" in part.dataset) merge(old, part);
      else old.replaceChildren(...part.childNodes);
    }
  }
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
  if (atEnd && main.querySelector("[data-follow]")) scrollTo(0, document.documentElement.scrollHeight);
}

let source;
function follow() {
  source = new EventSource(at);
  source.onopen = () => { status.textContent = "Changes are shown as they happen."; };
  source.onmessage = (message) => update(message.data);
  source.onerror = () => {
    status.textContent = source.readyState === EventSource.CLOSED
      ? `Changes are not shown any more: reload the page, or start ${document.getElementById("program").textContent} web again.`
      : "The server does not answer. Trying again…";
  };
}

if (at) {
  remember(main);
  follow();
  // A browser opens only six connections to a server, so a hidden page closes its stream.
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) follow();
  });
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post") return; // a search
  const button = form.querySelector("button");
  event.preventDefault();
  if (button.hasAttribute("aria-disabled")) return;
  button.setAttribute("aria-disabled", "true");
  const fields = new URLSearchParams(new FormData(form));
  const given = fields.get("key");
  fields.delete("key");
  try {
    const answer = await fetch(form.action, { method: "POST", headers: { "Skill-Key": given }, body: fields });
    if (answer.ok) {
      location.assign(answer.url);
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("main");
    if (!fresh) throw new Error(page.body.textContent);
    source?.close(); // the stream would replace the answer
    main.replaceChildren(...fresh.childNodes);
    status.textContent = "";
    main.querySelector(".notice")?.focus();
  } catch (failure) {
    status.textContent = "Nothing was done: " + failure.message;
    button.removeAttribute("aria-disabled");
  }
});

const notice = main.querySelector(".notice[tabindex]");
if (notice) notice.focus();
