"use strict";
// The live page: reads /admin/lag and /admin/groups every two seconds and shows them. Everything
// that comes from outside is set as text, never as markup.

(() => {
  const refreshMs = 2000;
  const pageSize = 1000;
  const byId = (id) => document.getElementById(id);
  const numbers = new Intl.NumberFormat("en");
  let paused = false;
  let chosen = null;
  let rows = [];
  let timer = 0;
  let busy = false;

  async function read(path) {
    const answer = await fetch(path, { headers: { accept: "application/json" }, cache: "no-store" });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.detail || answer.statusText);
    return body;
  }

  async function readAll(path) {
    const items = [];
    let after = "";
    do {
      const page = await read(`${path}?limit=${pageSize}${after}`);
      items.push(...page.items);
      after = page.next ? `&after=${encodeURIComponent(page.next)}` : null;
    } while (after);
    return items;
  }

  const keyOf = (one) => `${one.topic}\u0000${one.group}`;

  // One that is not known makes the sum unknown.
  function sumOf(values) {
    return values.some((value) => value === null) ? null : values.reduce((all, one) => all + one, 0);
  }

  function sum(partitions, name) {
    return sumOf(Object.values(partitions).map((one) => one[name]));
  }

  function joined(lags, groups) {
    const known = new Map(groups.map((one) => [keyOf(one), one]));
    return lags.map((lag) => ({
      topic: lag.topic,
      group: lag.group,
      lag: lag.lag,
      pending: lag.pending,
      seconds: lag.lagSeconds,
      caughtUp: lag.caughtUp,
      flight: sum(lag.partitions, "inFlight"),
      holes: sum(lag.partitions, "holes"),
      ahead: sum(lag.partitions, "settledAhead"),
      waiting: sum(lag.partitions, "waiting"),
      clients: known.get(keyOf(lag))?.clients ?? null,
      dead: known.get(keyOf(lag))?.deadLetters ?? null,
    })).sort((a, b) => b.seconds - a.seconds || b.lag - a.lag || keyOf(a).localeCompare(keyOf(b)));
  }

  function stateOf(row) {
    if (row.caughtUp) return ["caught up", "good"];
    if (row.lag === null) return ["unknown", "warn"];
    if (row.ahead > 0) return ["blocked", "bad"];
    if (row.clients === 0) return ["no client", "bad"];
    if (row.waiting > 0 && row.flight === 0) return ["waiting", "warn"];
    return ["moving", "busy"];
  }

  function age(seconds) {
    if (seconds <= 0) return "–";
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  }

  const count = (value) => (value === null ? "?" : numbers.format(value));

  function cell(row, name, content, classes) {
    const td = document.createElement("td");
    td.dataset.name = name;
    if (classes) td.className = classes;
    if (content instanceof Node) td.append(content);
    else td.textContent = content;
    row.append(td);
    return td;
  }

  function stateLabel(text, kind) {
    const label = document.createElement("span");
    label.className = `state ${kind}`;
    label.textContent = text;
    return label;
  }

  function rowOf(one) {
    const row = document.createElement("tr");
    row.dataset.key = keyOf(one);
    if (chosen && keyOf(chosen) === keyOf(one)) row.className = "chosen";
    const pick = document.createElement("button");
    pick.type = "button";
    pick.className = "pick";
    pick.textContent = one.group;
    pick.setAttribute("aria-label", `Explain group ${one.group} of topic ${one.topic}`);
    pick.addEventListener("click", () => choose(one));
    cell(row, "Topic", one.topic);
    cell(row, "Group", pick);
    cell(row, "State", stateLabel(...stateOf(one)));
    cell(row, "Lag", count(one.lag), "n");
    cell(row, "Pending", count(one.pending), "n");
    cell(row, "Oldest", age(one.seconds), "n");
    cell(row, "In flight", count(one.flight), "n");
    cell(row, "Holes", count(one.holes), "n");
    cell(row, "Dead", count(one.dead), one.dead > 0 ? "n warn" : "n");
    return row;
  }

  function show() {
    const wanted = byId("filter").value.trim().toLowerCase();
    const shown = rows.filter(
      (one) => one.topic.toLowerCase().includes(wanted) || one.group.toLowerCase().includes(wanted));
    // Who was on a button stays on it though the rows are new.
    const focused = document.activeElement?.closest?.("tr")?.dataset.key;
    byId("rows").replaceChildren(...shown.map(rowOf));
    if (focused) {
      for (const row of byId("rows").children) {
        if (row.dataset.key === focused) row.querySelector("button").focus();
      }
    }
    byId("empty").hidden = shown.length > 0;
    byId("empty").textContent = rows.length
      ? "No group fits the filter."
      : "No groups yet. The first subscribe makes one.";
    const total = (name) => count(sumOf(rows.map((one) => one[name])));
    byId("total-groups").textContent = numbers.format(rows.length);
    byId("total-lag").textContent = total("lag");
    byId("total-pending").textContent = total("pending");
    byId("total-flight").textContent = total("flight");
    byId("total-holes").textContent = total("holes");
    byId("total-dead").textContent = total("dead");
  }

  const kinds = {
    caught_up: "good", moving: "busy", waiting: "warn", no_client: "bad", blocked: "bad",
    quarantined: "bad", unknown: "warn",
  };

  async function explain() {
    const asked = chosen;
    const answer = await read(
      `/admin/explain?topic=${encodeURIComponent(asked.topic)}&group=${encodeURIComponent(asked.group)}`);
    if (asked !== chosen) return;
    byId("detail-title").textContent = `${asked.topic} / ${asked.group}`;
    byId("sentence").textContent = answer.sentence;
    byId("partitions").replaceChildren(...Object.entries(answer.partitions).map(([number, one]) => {
      const row = document.createElement("tr");
      cell(row, "Partition", number, "n");
      cell(row, "State", stateLabel(one.state.replaceAll("_", " "), kinds[one.state] ?? "warn"));
      cell(row, "Why", one.sentence);
      cell(row, "What helps", one.remedy ?? "–");
      return row;
    }));
    byId("detail").hidden = false;
  }

  async function choose(one) {
    chosen = { topic: one.topic, group: one.group };
    show();
    try {
      await explain();
      byId("detail-title").focus();
    } catch (problem) {
      status(problem.message, true);
    }
  }

  function close() {
    const key = chosen && keyOf(chosen);
    chosen = null;
    byId("detail").hidden = true;
    show();
    for (const row of byId("rows").children) {
      if (row.dataset.key === key) row.querySelector("button").focus();
    }
  }

  function status(text, bad) {
    // Set only when it changes: it is read aloud.
    const line = byId("status");
    if (line.textContent !== text) line.textContent = text;
    line.classList.toggle("bad", Boolean(bad));
  }

  async function refresh() {
    clearTimeout(timer);
    if (busy) return;
    busy = true;
    try {
      const [lags, groups] = await Promise.all([readAll("/admin/lag"), readAll("/admin/groups")]);
      rows = joined(lags, groups);
      show();
      if (chosen) await explain();
      status(paused ? "Paused" : "Live");
    } catch (problem) {
      status(`Not up to date: ${problem.message}`, true);
    } finally {
      busy = false;
      if (!paused && !document.hidden) timer = setTimeout(refresh, refreshMs);
    }
  }

  byId("filter").addEventListener("input", show);
  byId("close").addEventListener("click", close);
  byId("pause").addEventListener("click", () => {
    paused = !paused;
    byId("pause").setAttribute("aria-pressed", String(paused));
    if (paused) {
      clearTimeout(timer);
      status("Paused");
    } else {
      refresh();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen) close();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused) refresh();
  });
  refresh();
})();
