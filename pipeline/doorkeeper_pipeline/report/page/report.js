"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const phone = matchMedia("(max-width: 40rem)");

  function made(name, properties, ...children) {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  }

  function valueOf(cell, kind) {
    const given = cell.dataset.v;
    if (given === "") return null;
    if (given === undefined || kind === "commands") return cell.textContent.trim();
    return Number(given);
  }

  function compared(one, other) {
    if (typeof one === "number" && typeof other === "number") return one - other;
    return collator.compare(String(one), String(other));
  }

  class Sheet {
    constructor(table) {
      this.table = table;
      this.body = table.tBodies[0];
      this.heads = [...table.tHead.rows[0].cells];
      this.rows = [...this.body.rows].map((row, place) => ({ row, place, text: null }));
      this.kinds = this.heads.map((head) => head.dataset.kind);
      this.size = Number(table.dataset.page);
      this.page = 0;
      this.sorted = { column: -1, down: false };
      this.choices = new Map();
      this.found = this.rows;
      this.makeTools();
      this.heads.forEach((head, column) => this.makeButton(head, column));
      this.show();
    }

    makeButton(head, column) {
      const title = head.textContent;
      const button = made("button", { type: "button", textContent: title });
      button.addEventListener("click", () => {
        const first = ["number", "share", "time", "day", "names"].includes(this.kinds[column]);
        const down = this.sorted.column === column ? !this.sorted.down : first;
        this.sort(column, down);
      });
      head.replaceChildren(button);
    }

    makeTools() {
      const titleId = this.table.closest(".sheet").querySelector("h3").id;
      const title = document.getElementById(titleId).textContent;
      this.input = made("input", { type: "search", placeholder: "Search", autocomplete: "off", spellcheck: false });
      this.input.setAttribute("aria-label", `Search in: ${title}`);
      this.input.addEventListener("input", () => this.filter());
      this.count = made("span", { className: "count" });
      this.count.setAttribute("role", "status");
      this.back = made("button", { type: "button", textContent: "\u2190", className: "push" });
      this.back.setAttribute("aria-label", `Previous rows of: ${title}`);
      this.back.addEventListener("click", () => this.turn(-1));
      this.next = made("button", { type: "button", textContent: "\u2192" });
      this.next.setAttribute("aria-label", `Next rows of: ${title}`);
      this.next.addEventListener("click", () => this.turn(1));
      const selects = this.heads
        .map((head, column) => (head.hasAttribute("data-choice") ? this.choice(head.textContent, column, title) : null))
        .filter((each) => each !== null);
      const tools = made("div", { className: "tools" }, this.input, ...selects, this.order(title), this.count, this.back, this.next);
      tools.setAttribute("role", "group");
      tools.setAttribute("aria-label", `Find in: ${title}`);
      this.table.closest(".scroll").before(tools);
    }

    choice(head, column, title) {
      const values = new Set();
      for (const { row } of this.rows) for (const word of this.words(row.cells[column])) values.add(word);
      if (values.size < 2 || values.size > 40) return null;
      const select = made("select", {}, made("option", { value: "", textContent: `${head}: any` }));
      for (const word of [...values].sort(collator.compare)) select.append(made("option", { value: word, textContent: word }));
      select.setAttribute("aria-label", `${head} in: ${title}`);
      select.addEventListener("change", () => {
        if (select.value) this.choices.set(column, select.value);
        else this.choices.delete(column);
        this.filter();
      });
      return select;
    }

    words(cell) {
      const tags = cell.querySelectorAll(".tag");
      return tags.length ? [...tags].map((tag) => tag.textContent) : [cell.textContent.trim()];
    }

    order(title) {
      const select = made("select", { className: "phone" }, made("option", { value: "", textContent: "Sort by \u2026" }));
      this.heads.forEach((head, column) => {
        select.append(made("option", { value: `${column} up`, textContent: `${head.textContent} \u2191` }));
        select.append(made("option", { value: `${column} down`, textContent: `${head.textContent} \u2193` }));
      });
      select.setAttribute("aria-label", `Sort: ${title}`);
      select.addEventListener("change", () => {
        const [column, way] = select.value.split(" ");
        if (way) this.sort(Number(column), way === "down");
      });
      return select;
    }

    sort(column, down) {
      this.sorted = { column, down };
      const kind = this.kinds[column];
      const keyed = this.rows.map((each) => ({ each, key: valueOf(each.row.cells[column], kind) }));
      keyed.sort((one, other) => {
        if (one.key === null || other.key === null) {
          if (one.key !== other.key) return one.key === null ? 1 : -1;
          return one.each.place - other.each.place;
        }
        const order = compared(one.key, other.key);
        return (down ? -order : order) || one.each.place - other.each.place;
      });
      this.rows = keyed.map(({ each }) => each);
      this.heads.forEach((head, place) => {
        if (place === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      this.filter();
    }

    filter() {
      const wanted = this.input.value.toLowerCase().normalize("NFC").split(/\s+/).filter(Boolean);
      this.found = this.rows.filter((each) => {
        for (const [column, word] of this.choices) {
          if (!this.words(each.row.cells[column]).includes(word)) return false;
        }
        if (!wanted.length) return true;
        each.text ??= [...each.row.cells].map((cell) => cell.textContent).join(" ").toLowerCase().normalize("NFC");
        return wanted.every((word) => each.text.includes(word));
      });
      this.page = 0;
      this.show();
    }

    turn(by) {
      this.page += by;
      this.show();
    }

    show() {
      const begin = this.page * this.size;
      const end = Math.min(begin + this.size, this.found.length);
      this.body.replaceChildren(...this.found.slice(begin, end).map(({ row }) => row));
      const all = this.found.length === this.rows.length ? "" : ` found, of ${this.rows.length.toLocaleString("en")}`;
      this.count.textContent = this.found.length
        ? `${(begin + 1).toLocaleString("en")}\u2013${end.toLocaleString("en")} of ${this.found.length.toLocaleString("en")}${all}`
        : `nothing found, of ${this.rows.length.toLocaleString("en")}`;
      this.back.disabled = this.page === 0;
      this.next.disabled = end >= this.found.length;
      this.back.hidden = this.next.hidden = this.found.length <= this.size;
    }
  }

  function keepRoles() {
    if (!phone.matches) return;
    // A browser may forget that something shown as a block is a table.
    for (const table of document.querySelectorAll("table.data")) {
      table.setAttribute("role", "table");
      for (const row of table.rows) {
        row.setAttribute("role", "row");
        for (const cell of row.cells) cell.setAttribute("role", cell.tagName === "TH" ? "columnheader" : "cell");
      }
    }
  }

  function themeButton() {
    const themes = ["auto", "light", "dark"];
    const button = made("button", { type: "button", textContent: "Colours: auto", title: "Light, dark, or as the system has it" });
    button.setAttribute("aria-label", "Colours: auto");
    button.addEventListener("click", () => {
      const now = document.documentElement.dataset.theme ?? "auto";
      const next = themes[(themes.indexOf(now) + 1) % themes.length];
      if (next === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = next;
      button.textContent = `Colours: ${next}`;
      button.setAttribute("aria-label", `Colours: ${next}`);
    });
    document.querySelector("nav .page").append(button);
  }

  function readouts() {
    for (const figure of document.querySelectorAll(".timeline")) {
      const output = figure.querySelector(".readout");
      figure.addEventListener("pointerover", (event) => {
        const title = event.target.closest("g")?.querySelector("title");
        output.textContent = title ? title.textContent : "";
      });
    }
  }

  function currentSection() {
    const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-20% 0px -75% 0px" });
    for (const section of document.querySelectorAll("main > section")) observer.observe(section);
  }

  keepRoles();
  for (const table of document.querySelectorAll("table.data")) new Sheet(table);
  themeButton();
  readouts();
  currentSection();
})();
