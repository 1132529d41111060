// What the pages do beyond being read: sorting and filtering tables, opening what a link leads into,
// the choice of a theme, and keys. Pages are whole without it; every control is made here. Text of
// the ledger is only ever set as text.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  /** An element with attributes and children; text among the children stays text. */
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false && value != null) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  const memory = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) {
      try {
        if (value) localStorage.setItem(key, value); else localStorage.removeItem(key);
      } catch { /* No storage: the choice holds for this page. */ }
    },
  };

  const keys = new Map();
  /** Bind a key; `label` is what the list of keys says of it. */
  function onKey(key, label, act) { keys.set(key, { label, act }); }

  // --- Tables -------------------------------------------------------------------------------------

  const LAST = /^(|-|–|—|none|unknown|not known|not asked|not graded|not run|n\/a)$/i;

  function sortKey(cell) {
    const text = (cell?.dataset.sort ?? cell?.textContent ?? "").trim();
    if (LAST.test(text)) return { text: "", number: NaN, last: true };
    const share = /^(\d+)\s*\/\s*(\d+)/.exec(text);
    if (share) return { text, number: share[1] / Math.max(1, share[2]), last: false };
    const plain = text.replace(/[,\u00a0\u202f ](?=\d{3})/g, "").replace(/^[−–](?=\d)/, "-");
    const found = /^[^\d\w.+-]{0,2}([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?![\w-]*\d)/i.exec(plain);
    return { text, number: found ? Number(found[1]) : NaN, last: false };
  }

  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function compare(a, b) {
    if (a.last || b.last) return a.last - b.last;
    if (!Number.isNaN(a.number) && !Number.isNaN(b.number) && a.number !== b.number) {
      return a.number - b.number;
    }
    return collator.compare(a.text, b.text);
  }

  function sortable(table) {
    const body = table.tBodies[0];
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    const rows = [...(body?.rows ?? [])];
    const regular = (row) => row.cells.length === heads.length
      && [...row.cells].every((cell) => cell.rowSpan === 1 && cell.colSpan === 1);
    if (table.tBodies.length !== 1 || table.tHead?.rows.length !== 1) return;
    if (rows.length < 2 || !rows.every(regular)) return;

    heads.forEach((head, column) => {
      if (head.hasAttribute("data-plain") || !head.textContent.trim()) return;
      const button = make("button", { type: "button", class: "sort", onclick: () => sort(head, column) });
      button.append(...head.childNodes);
      head.append(button);
    });

    function sort(head, column) {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const way = next[head.getAttribute("aria-sort") ?? "none"];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (way !== "none") head.setAttribute("aria-sort", way);
      const keyed = rows.map((row) => [sortKey(row.cells[column]), row]);
      if (way !== "none") {
        keyed.sort(([a], [b]) => (way === "ascending" || a.last || b.last ? compare(a, b) : compare(b, a)));
      }
      body.append(...keyed.map(([, row]) => row));
      const name = head.textContent.trim();
      say(way === "none" ? "Sorted as before" : `Sorted by ${name}, ${way}`);
    }
  }

  const MANY = 6; // Fewer rows need no filter.
  const CHOICES = 20;

  function filterable(table) {
    const rows = all(":scope > tbody > tr", table);
    if (rows.length < MANY) return;
    const place = table.closest(".scroll") ?? table;
    const name = table.caption?.textContent.trim()
      || place.getAttribute("aria-label")
      || document.getElementById(table.closest("section")?.getAttribute("aria-labelledby"))?.textContent.trim()
      || "this table";
    const texts = rows.map((row) => row.textContent.replace(/\s+/g, " ").toLowerCase());
    const count = make("span", { role: "status" });
    const box = make("input", {
      type: "search", autocomplete: "off", spellcheck: "false",
      placeholder: "words, -without", oninput: () => apply(true),
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && box.value) { box.value = ""; apply(true); event.preventDefault(); }
    });
    const choices = [...(table.tHead?.rows[0]?.cells ?? [])]
      .flatMap((head, column) => (head.hasAttribute("data-facet") ? [choice(head, column)] : []))
      .filter(Boolean);
    place.before(make("div", { class: "table-tools", role: "group", "aria-label": `Filter: ${name}` },
      make("label", {}, "Filter ", box), ...choices.map((one) => one.label), count));
    apply(false);

    function choice(head, column) {
      const said = rows.map((row) => row.cells[column]?.textContent.trim().replace(/\s+/g, " ") ?? "");
      const values = [...new Set(said)].sort(collator.compare);
      if (values.length < 2 || values.length > CHOICES) return null;
      const select = make("select", { onchange: () => apply(true) }, make("option", { value: "" }, "all"));
      values.forEach((value, index) => select.append(make("option", { value: index + 1 }, value || "(empty)")));
      return {
        label: make("label", {}, `${head.textContent.trim()} `, select),
        fits: (row) => !select.value || said[row] === values[select.value - 1],
      };
    }

    function apply(announce) {
      const words = box.value.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
      let shown = 0;
      rows.forEach((row, index) => {
        const fits = words.every((word) => (word.startsWith("-")
          ? !texts[index].includes(word.slice(1)) : texts[index].includes(word)))
          && choices.every((one) => one.fits(index));
        row.hidden = !fits;
        shown += fits;
      });
      const text = `${shown} of ${rows.length} rows`;
      if (announce || !count.textContent) count.textContent = text;
    }
  }

  const teller = make("p", { class: "unseen", role: "status" });
  /** Tell those who do not see the page. */
  function say(text) { teller.textContent = text; }

  /** Boxes that scroll are reached by the keyboard; those that do not are no stop on its way. */
  function boxes() {
    const scrolls = (box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    const look = (box) => {
      const over = scrolls(box);
      if (over) {
        box.tabIndex = 0;
        if (!box.getAttribute("role") && box.tagName !== "PRE") {
          box.setAttribute("role", "group");
          box.setAttribute("aria-label", box.querySelector("caption")?.textContent.trim() || "Wide table");
        }
      } else if (!box.contains(document.activeElement)) box.removeAttribute("tabindex");
      box.classList.toggle("overflows", over && box.classList.contains("scroll"));
    };
    const found = all(".scroll, pre.text, pre.commands, .prose pre");
    const watch = new ResizeObserver((entries) => entries.forEach((entry) => look(entry.target)));
    found.forEach((box) => watch.observe(box));
  }

  // --- Folded parts, and what a link leads into -----------------------------------------------------

  function target() {
    const id = location.hash.slice(1);
    if (!id) return null;
    try { return document.getElementById(decodeURIComponent(id)) ?? document.getElementById(id); } catch { return null; }
  }

  function unfold() {
    const found = target();
    if (!found) return;
    let opened = false;
    for (let place = found; place; place = place.parentElement?.closest("details")) {
      if (place.tagName === "DETAILS" && !place.open) opened = place.open = true;
    }
    if (opened) found.scrollIntoView();
  }

  function folds() {
    const held = target();
    const own = all("details[data-fold]");
    own.forEach((one) => { if (!held || !one.contains(held)) one.open = false; });
    addEventListener("beforeprint", () => own.forEach((one) => { one.open = true; }));
    addEventListener("hashchange", unfold);
    unfold();
  }

  function here() {
    const links = all(".jump a[href^='#']");
    const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    if (!links.length || places.includes(null)) return;
    let waiting = false;
    const look = () => {
      waiting = false;
      const line = innerHeight * 0.3;
      let current = -1;
      places.forEach((place, index) => { if (place.getBoundingClientRect().top < line) current = index; });
      links.forEach((link, index) => {
        if (index === current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
      });
    };
    const soon = () => { if (!waiting) { waiting = true; requestAnimationFrame(look); } };
    addEventListener("scroll", soon, { passive: true });
    soon();
  }

  // --- Theme ------------------------------------------------------------------------------------------

  const THEMES = { "": "as the system", light: "light", dark: "dark" };

  function theme() {
    const names = Object.keys(THEMES);
    const button = make("button", { type: "button", class: "button theme", onclick: turn },
      make("span", { class: "theme-mark", "aria-hidden": "true" }));
    label();
    document.getElementById("tools").append(button);

    function turn() {
      const next = names[(names.indexOf(root.dataset.theme ?? "") + 1) % names.length];
      if (next) root.dataset.theme = next; else delete root.dataset.theme;
      memory.set("trialbook-theme", next);
      label();
      say(`Theme: ${THEMES[next]}`);
    }
    function label() {
      const said = `Theme: ${THEMES[root.dataset.theme ?? ""]}`;
      button.setAttribute("aria-label", said);
      button.title = `${said}. Press to change it.`;
    }
    onKey("t", "change the theme", turn);
  }

  // --- Changes: in one column or side by side, as it was chosen last -------------------------------

  function views() {
    const chosen = memory.get("trialbook-view");
    all('input[name="view"]').forEach((radio) => {
      if (radio.id === chosen) radio.checked = true;
      radio.addEventListener("change", () => memory.set("trialbook-view", radio.id));
    });
  }

  // --- Keys -------------------------------------------------------------------------------------------

  function steps() {
    const marked = all("[data-step]");
    const found = marked.length ? marked : all("main table:not(.diff) > tbody > tr").filter((row) => row.querySelector("a[href]"));
    return found.filter((one) => !one.hidden && one.getClientRects().length);
  }

  function step(by) {
    const found = steps();
    if (!found.length) return;
    const at = found.findIndex((one) => one.classList.contains("at"));
    const focused = found.findIndex((one) => one.contains(document.activeElement));
    let next = (focused >= 0 ? focused : at) + by;
    if (focused < 0 && at < 0) {
      next = by > 0 ? found.findIndex((one) => one.getBoundingClientRect().top >= 0) : 0;
    }
    const one = found[Math.max(0, Math.min(found.length - 1, next))];
    all(".at").forEach((old) => old.classList.remove("at"));
    one.classList.add("at");
    const link = one.querySelector("a[href], summary, button");
    const goal = link ?? one;
    if (!link) one.tabIndex = -1;
    goal.focus({ preventScroll: true });
    one.scrollIntoView({ block: "nearest" });
  }

  function dialog() {
    const list = make("dl", { class: "facts" });
    const off = make("input", { type: "checkbox", onchange: () => memory.set("trialbook-keys", off.checked ? "off" : "") });
    off.checked = memory.get("trialbook-keys") === "off";
    const close = make("button", { type: "button", class: "button", onclick: () => box.close() }, "Close");
    const box = make("dialog", { "aria-labelledby": "keys-title" },
      make("h2", { id: "keys-title" }, "Keys"), list,
      make("p", {}, make("label", {}, off, " No single keys, but for this list")), close);
    document.body.append(box);
    const show = () => {
      if (box.open) return;
      list.replaceChildren(...[...keys].map(([key, { label }]) =>
        make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, label))));
      box.showModal();
      close.focus();
    };
    onKey("?", "this list", show);
    document.getElementById("tools").append(make("button", {
      type: "button", class: "button keys", "aria-label": "Keys", title: "Keys (?)", "aria-haspopup": "dialog", onclick: show,
    }, "?"));
    return () => off.checked;
  }

  function keyboard() {
    onKey("j", "next row", () => step(1));
    onKey("k", "previous row", () => step(-1));
    all("[data-key]").forEach((element) => {
      const key = element.dataset.key;
      if (key) onKey(key, element.dataset.keyLabel || element.textContent.trim().toLowerCase(), () => element.click());
    });
    const silent = dialog();
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
      if (event.target.closest?.("input:not([type=radio]), select, textarea, [contenteditable], dialog[open]")) return;
      const bound = keys.get(event.key);
      if (!bound || (silent() && event.key !== "?")) return;
      event.preventDefault();
      bound.act();
    });
  }

  document.body.append(teller);
  all("table.filterable").forEach(filterable);
  all("table.sortable").forEach(sortable);
  window.trialbookSite = { make, say, onKey };
  window.trialbookFind?.();
  theme();
  views();
  keyboard();
  boxes();
  folds();
  here();
})();
