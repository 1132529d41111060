// Search over the whole site, in a list that the keyboard goes through. Its data are files beside this
// one that are loaded when they are first wanted; they hold names and addresses, and nothing that acts.
"use strict";
(() => {
  const base = new URL("../", document.currentScript.src);
  const SHOWN = 40;
  const WEIGHT = { Suite: 9, Task: 8, Configuration: 7, Run: 6, Finding: 5, Rubric: 5, Page: 7, Word: 4, Docs: 3, Section: 1, Trial: 0 };

  const entries = []; // { kind, title, detail, address, text }
  let waiting = 0; // Files that are still to come.
  let missing = 0; // Files that did not come.

  const store = (window.trialbookSearch = window.trialbookSearch ?? {});

  function load(file, arrived) {
    waiting += 1;
    const script = document.createElement("script");
    const done = () => { script.remove(); waiting -= 1; };
    script.addEventListener("load", () => { done(); arrived(store[file] ?? {}); });
    script.addEventListener("error", () => { missing += 1; done(); arrived({}); });
    script.src = new URL(file, base).href;
    document.head.append(script);
  }

  function add(kind, title, detail, address) {
    entries.push({ kind, title, detail, address, text: `${title} ${detail} ${kind}`.toLowerCase() });
  }

  /** What a file brings: entries in full, trials of a run in short, and more files. */
  function take(found, changed) {
    for (const [kind, title, detail, address] of found.entries ?? []) add(kind, title, detail, address);
    if (found.trials) {
      const { suite, run, folder, tasks, configurations, outcomes, trials } = found;
      for (const [task, configuration, repetition, rerun, outcome] of trials) {
        const name = `r${repetition}${rerun ? `.rerun${rerun}` : ""}`;
        add("Trial", `${tasks[task][0]} ${configurations[configuration][0]} ${name}`,
          `${outcomes[outcome]} · ${suite} ${run}`,
          `${folder}/${tasks[task][1]}/${configurations[configuration][1]}/${name}.html`);
      }
    }
    const files = found.files ?? [];
    let next = 0;
    const more = () => {
      if (next < files.length) load(files[next++], (data) => { take(data, changed); more(); });
      changed();
    };
    // A few at once: many small files would wait for each other one by one.
    for (let lane = 0; lane < Math.max(1, Math.min(4, files.length)); lane += 1) more();
  }

  function score(entry, words) {
    const title = entry.title.toLowerCase();
    let sum = WEIGHT[entry.kind] ?? 2;
    for (const word of words) {
      if (!entry.text.includes(word)) return -1;
      const at = title.indexOf(word);
      if (title === word) sum += 60;
      else if (at === 0) sum += 30;
      else if (at > 0) sum += /[\s\-_/.:]/.test(title[at - 1]) ? 20 : 8;
    }
    return sum - Math.min(10, title.length / 20);
  }

  function search(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return { found: [], total: 0 };
    const hits = [];
    entries.forEach((entry, index) => {
      const points = score(entry, words);
      if (points >= 0) hits.push([points, index]);
    });
    hits.sort(([a, i], [b, j]) => b - a || i - j);
    return { found: hits.slice(0, SHOWN).map(([, index]) => entries[index]), total: hits.length, words };
  }

  /** Text with the words that were asked for in bold: pieces of text, never markup. */
  function marked(make, text, words) {
    const lower = text.toLowerCase();
    const out = [];
    let from = 0;
    while (from < text.length && lower.length === text.length) {
      const next = words
        .map((word) => [lower.indexOf(word, from), word.length])
        .filter(([at]) => at >= 0)
        .sort(([a, m], [b, n]) => a - b || n - m)[0];
      if (!next) break;
      out.push(text.slice(from, next[0]), make("mark", {}, text.slice(next[0], next[0] + next[1])));
      from = next[0] + next[1];
    }
    return [...out, text.slice(from)];
  }

  window.trialbookFind = () => {
    const { make, onKey } = window.trialbookSite;
    const input = make("input", {
      type: "search", role: "combobox", "aria-expanded": "false", "aria-controls": "search-list",
      "aria-autocomplete": "list", "aria-label": "Search", autocomplete: "off", spellcheck: "false",
      placeholder: "Search", maxlength: 200,
    });
    const list = make("ul", { id: "search-list", role: "listbox", "aria-label": "Found" });
    const status = make("p", { class: "search-status", role: "status" });
    const panel = make("div", { class: "search-results", hidden: true }, list, status);
    const box = make("div", { class: "search", role: "search" }, input, make("kbd", { "aria-hidden": "true" }, "/"), panel);
    document.getElementById("tools").prepend(box);

    let started = false;
    let at = -1;
    let drawn = "";

    function start() {
      if (started) return;
      started = true;
      let timer = 0;
      load("assets/search-index.js", (data) => take(data, () => {
        clearTimeout(timer);
        timer = setTimeout(draw, waiting ? 60 : 0);
      }));
    }

    function draw() {
      const query = input.value.trim();
      if (!query || document.activeElement !== input) return close();
      const { found, total, words } = search(query);
      const before = list.children[at]?.dataset.address;
      list.replaceChildren(...found.map((entry, index) => make("li", {
        role: "option", id: `search-${index}`, "data-address": entry.address, "aria-selected": "false",
        onclick: () => go(index), onmousemove: () => { if (at !== index) choose(index, false); },
      },
      make("span", { class: "search-kind" }, entry.kind),
      make("span", { class: "search-title" }, ...marked(make, entry.title, words)),
      make("span", { class: "search-detail" }, ...marked(make, entry.detail, words)))));
      const kept = found.findIndex((entry) => entry.address === before);
      list.hidden = !found.length;
      panel.hidden = false;
      input.setAttribute("aria-expanded", String(found.length > 0));
      choose(query === drawn && kept >= 0 ? kept : found.length ? 0 : -1, false);
      drawn = query;
      status.textContent = said(total, found.length);
    }

    function said(total, shown) {
      const count = total === 0 ? "Nothing found" : `${total} found${total > shown ? `, the first ${shown} shown` : ""}`;
      const rest = waiting ? "; still reading" : missing ? "; part of the index could not be read" : "";
      return count + rest;
    }

    function choose(index, show = true) {
      list.children[at]?.setAttribute("aria-selected", "false");
      at = index;
      const option = list.children[at];
      if (!option) return input.removeAttribute("aria-activedescendant");
      option.setAttribute("aria-selected", "true");
      input.setAttribute("aria-activedescendant", option.id);
      if (show) option.scrollIntoView({ block: "nearest" });
    }

    function go(index) {
      const address = list.children[index]?.dataset.address;
      if (!address) return;
      const goal = new URL(address, base);
      // Whatever stands in the data: it leads to a page of this site, or nowhere.
      if (goal.href.startsWith(base.href)) { close(); location.href = goal.href; }
    }

    function close() {
      panel.hidden = true;
      input.setAttribute("aria-expanded", "false");
      choose(-1);
    }

    const moves = {
      ArrowDown: () => Math.min(at + 1, list.children.length - 1),
      ArrowUp: () => Math.max(at - 1, 0),
      PageDown: () => Math.min(at + 8, list.children.length - 1),
      PageUp: () => Math.max(at - 8, 0),
    };
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key in moves) {
        event.preventDefault();
        if (panel.hidden) draw(); else choose(moves[event.key]());
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (!panel.hidden && at >= 0) go(at);
      } else if (event.key === "Escape") {
        event.preventDefault();
        if (!panel.hidden) close();
        else if (input.value) input.value = "";
        else input.blur();
      }
    });
    input.addEventListener("focus", () => { start(); if (input.value) draw(); });
    input.addEventListener("input", () => { start(); draw(); });
    document.addEventListener("pointerdown", (event) => { if (!box.contains(event.target)) close(); });
    box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) close(); });
    onKey("/", "search", () => { input.focus(); input.select(); });
  };
})();
