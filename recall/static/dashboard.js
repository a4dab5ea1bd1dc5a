"use strict";

// User content is always inserted as text, never as markup.

const find = (name, root = document) => root.querySelector(`[data-testid="${name}"]`);
const all = (name, root = document) => [...root.querySelectorAll(`[data-testid="${name}"]`)];

function tell(text, bad = false) {
  const message = document.getElementById("message");
  message.textContent = text;
  message.classList.toggle("bad", bad);
  message.hidden = false;
}

// A message disappears with the next click.
document.addEventListener("click", () => { document.getElementById("message").hidden = true; }, true);

async function ask(method, path, body) {
  const text = await askText(method, path, body);
  return text === "" ? {} : JSON.parse(text);
}

async function askText(method, path, body) {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  const text = await answer.text();
  if (answer.status === 401) {
    location.assign(`/dashboard/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  if (!answer.ok) throw new Error(errorMessage(text) || `error ${answer.status}`);
  return text;
}

function errorMessage(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return null; // not one of our errors
  }
}

// An event handler that shows errors as a message.
const doing = (work) => async (event) => {
  try {
    await work(event);
  } catch (error) {
    tell(error.message, true);
  }
};

function plural(count, word) {
  return `${count} ${count === 1 ? word : word.replace(/y$/, "ie") + "s"}`;
}

// The memories page.

let latest = 0;

// A selector that finds an element of a row again after the list was replaced.
function place(element) {
  const row = element && element.closest("[data-id]");
  if (!row || !element.dataset.testid) return null;
  return `[data-id="${row.dataset.id}"] [data-testid="${element.dataset.testid}"]`;
}

async function refresh(search = location.search) {
  const turn = ++latest;
  const answer = await fetch(`/dashboard/memory${search}`, { headers: { accept: "text/html" } });
  if (answer.redirected) return location.assign(answer.url);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (turn !== latest) return; // a newer request is under way
  const chosen = new Set(chosenIds());
  const focused = place(document.activeElement);
  for (const part of document.querySelectorAll("[data-fresh]")) {
    const other = fresh.getElementById(part.id);
    if (other && other.innerHTML !== part.innerHTML) part.replaceWith(document.adoptNode(other));
  }
  for (const row of all("memory-row")) find("select-row", row).checked = chosen.has(row.dataset.id);
  const again = focused && document.querySelector(focused);
  if (again && again !== document.activeElement) again.focus({ preventScroll: true });
  const link = find("export-ndjson", fresh);
  if (link) find("export-ndjson").setAttribute("href", link.getAttribute("href"));
  noteChosen();
}

function chosenIds() {
  return all("memory-row").filter((row) => find("select-row", row).checked).map((row) => row.dataset.id);
}

function noteChosen() {
  find("bulk-delete").disabled = chosenIds().length === 0;
}

function filterSearch() {
  const given = new FormData(document.querySelector(".filter"));
  const kept = [...given].filter(([name, value]) => typeof value === "string" && value !== "" && name);
  const search = new URLSearchParams(kept).toString();
  return search ? `?${search}` : "";
}

async function applyFilter() {
  const search = filterSearch();
  history.replaceState(null, "", `/dashboard/memory${search}`);
  await refresh(search);
}

function owner() {
  const chosen = find("owner-filter").value;
  return chosen === "" ? undefined : chosen === "(shared)" ? "" : chosen;
}

function save(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function openEditor(memory) {
  const dialog = document.getElementById("editor");
  const form = dialog.querySelector("form");
  form.reset();
  dialog.dataset.id = memory ? memory.id : "";
  document.getElementById("editor-title").textContent = memory ? "Edit a memory" : "Add a memory";
  document.getElementById("editor-error").hidden = true;
  form.elements.apiKeyId.disabled = Boolean(memory);
  for (const name of ["key", "content", "type", "apiKeyId"]) {
    if (memory) form.elements[name].value = memory[name];
  }
  if (!memory) form.elements.apiKeyId.value = owner() || "";
  dialog.showModal();
}

async function saveEditor(event) {
  event.preventDefault();
  const dialog = document.getElementById("editor");
  const values = Object.fromEntries(new FormData(dialog.querySelector("form")));
  try {
    if (dialog.dataset.id) await ask("PUT", `/api/memory/${dialog.dataset.id}`, values);
    else await ask("POST", "/api/memory", values);
  } catch (error) {
    const shown = document.getElementById("editor-error");
    shown.textContent = error.message;
    shown.hidden = false;
    return;
  }
  dialog.close();
  tell("Memory saved.");
  await refresh();
}

async function onListClick(event) {
  const row = event.target.closest('[data-testid="memory-row"]');
  if (!row) return;
  if (event.target.closest('[data-testid="edit-memory"]')) {
    openEditor((await ask("GET", `/api/memory/${row.dataset.id}`)).memory);
  } else if (event.target.closest('[data-testid="delete-memory"]')) {
    if (!confirm("Delete this memory? It will no longer be recalled.")) return;
    await ask("DELETE", `/api/memory/${row.dataset.id}`);
    tell("Memory deleted.");
    await refresh();
  }
}

async function bulkDelete() {
  const ids = chosenIds();
  if (!ids.length || !confirm(`Delete ${plural(ids.length, "memory")}?`)) return;
  const done = await ask("POST", "/api/memory/delete", { ids });
  tell(`${plural(done.deletedCount, "memory")} deleted.`);
  await refresh();
}

async function exportPage() {
  const rows = all("memory-row").map((row) => askText("GET", `/api/memory/${row.dataset.id}`));
  // The text as it came: a browser would round large numbers.
  const memories = (await Promise.all(rows)).map((row) => row.replace(/^\s*\{\s*"memory"\s*:|\}\s*$/g, ""));
  save("memories.json", "application/json", `[\n${memories.join(",\n")}\n]\n`);
}

async function importFile(event) {
  const file = event.target.files[0];
  if (!file) return;
  const text = await file.text();
  event.target.value = "";
  const done = await ask("POST", "/api/memory/import", text);
  const bad = done.errors.length ? `, ${plural(done.errors.length, "line")} refused (the first is line ${done.errors[0].line}: ${done.errors[0].message})` : "";
  tell(`${done.imported} imported, ${done.updated} updated, ${done.skipped} skipped${bad}.`, Boolean(bad));
  await refresh();
}

async function summarize() {
  const body = { olderThanDays: 30 };
  if (owner() !== undefined) body.apiKeyId = owner();
  const dry = await ask("POST", "/api/memory/summarize", { ...body, dryRun: true });
  if (!dry.originalCount) return tell("No memory is older than 30 days: there is nothing to summarise.");
  const saved = dry.tokensSaved < 0 ? `take ${-dry.tokensSaved} more tokens` : `save ${dry.tokensSaved} tokens`;
  const words = `${plural(dry.originalCount, "memory")} older than 30 days would become ${plural(dry.summarizedCount, "summary")} and ${saved}. The originals can be restored. Continue?`;
  if (!confirm(words)) return tell("Nothing was changed.");
  const done = await ask("POST", "/api/memory/summarize", body);
  tell(`${plural(done.originalCount, "memory")} summarised.`);
  await refresh();
}

async function restore(event) {
  const button = event.target.closest('[data-testid="restore"]');
  if (!button) return;
  const done = await ask("POST", "/api/memory/restore", { runId: button.dataset.run });
  tell(`${plural(done.restoredCount, "memory")} restored, ${done.skipped.length} skipped.`);
  await refresh();
}

async function health() {
  const dot = find("health-dot");
  const words = document.getElementById("health-words");
  let shown = { working: false };
  try {
    shown = await ask("GET", "/api/memory/health");
  } catch {
    // shown as not working
  }
  dot.dataset.state = shown.working ? "ok" : "bad";
  dot.setAttribute("aria-label", shown.working ? "Health: working" : "Health: not working");
  words.textContent = shown.working ? `Store OK, ${Math.round(shown.latencyMs)} ms` : "Store not working";
}

function list(output, lines, nothing) {
  output.replaceChildren();
  if (!lines.length) {
    output.textContent = nothing;
    return;
  }
  const items = document.createElement("ul");
  for (const line of lines) {
    const item = document.createElement("li");
    item.textContent = line;
    items.append(item);
  }
  output.append(items);
}

async function previewRetrieval(event) {
  event.preventDefault();
  const given = new FormData(event.target);
  const body = {
    query: given.get("query"),
    strategy: given.get("strategy"),
    maxTokens: Number(given.get("maxTokens")),
  };
  if (owner() !== undefined) body.apiKeyId = owner();
  const shown = await ask("POST", "/api/memory/retrieve-preview", body);
  const lines = shown.memories.map((one) => `${one.content} (${one.tier}, score ${Math.round(one.score * 1000) / 1000}, ${one.tokens} tokens)`);
  list(find("playground-memories"), lines, "Nothing would be recalled.");
}

async function previewExtraction(event) {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  const shown = await ask("POST", "/api/memory/extract-preview", given);
  const lines = shown.facts.map((fact) => `${fact.content} (${fact.category}, ${fact.polarity}, key ${fact.key})`);
  list(find("playground-facts"), lines, "Nothing would be learned.");
}

function memoryPage() {
  let timer;
  const filter = document.querySelector(".filter");
  filter.addEventListener("submit", doing(async (event) => {
    event.preventDefault();
    await applyFilter();
  }));
  find("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(doing(applyFilter), 300);
  });
  find("type-filter").addEventListener("change", doing(applyFilter));
  find("owner-filter").addEventListener("change", doing(applyFilter));
  document.addEventListener("click", doing(async (event) => {
    await onListClick(event);
    await restore(event);
  }));
  document.addEventListener("change", (event) => {
    if (event.target.matches('[data-testid="select-row"]')) noteChosen();
  });
  find("add-memory").addEventListener("click", () => openEditor(null));
  document.getElementById("editor-cancel").addEventListener("click", () => document.getElementById("editor").close());
  document.querySelector("#editor form").addEventListener("submit", doing(saveEditor));
  find("bulk-delete").addEventListener("click", doing(bulkDelete));
  find("export-json").addEventListener("click", doing(exportPage));
  find("import-file").addEventListener("change", doing(importFile));
  find("summarize").addEventListener("click", doing(summarize));
  document.getElementById("retrieve").addEventListener("submit", doing(previewRetrieval));
  document.getElementById("extract").addEventListener("submit", doing(previewExtraction));
  filter.querySelector("button:not([type])").hidden = true; // filters are applied on change
  health();
  setInterval(() => document.hidden || health(), 30000);
  setInterval(() => {
    if (!document.hidden && !document.getElementById("editor").open) refresh().catch(() => {});
  }, 5000);
}

// The settings page.

function readSettings(form) {
  const names = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);
  const values = {};
  for (const control of form.querySelectorAll("[name]")) {
    if (control.type === "checkbox") values[control.name] = control.checked;
    else if (control.type === "number") values[control.name] = Number(control.value);
    else if (control.name.startsWith("providers")) values[control.name] = names(control.value);
    else if (control.name.startsWith("embedding")) values[control.name] = control.value.trim() || null;
    else values[control.name] = control.value;
  }
  return values;
}

async function saveSettings(event) {
  event.preventDefault();
  const shown = document.getElementById("settings-error");
  try {
    await ask("PUT", "/api/settings/memory", readSettings(event.target));
  } catch (error) {
    shown.textContent = error.message;
    shown.hidden = false;
    return;
  }
  shown.hidden = true;
  sessionStorage.setItem("told", "Settings saved. They apply to the next request.");
  location.reload();
}

async function addKey(event) {
  event.preventDefault();
  const made = await ask("POST", "/api/keys", { name: new FormData(event.target).get("name") });
  const shown = document.getElementById("made");
  shown.querySelector("code").textContent = made.key;
  shown.hidden = false;
  event.target.reset();
  await refreshKeys();
}

async function refreshKeys() {
  const answer = await fetch("/dashboard/settings");
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.querySelector("#keys .rows").replaceWith(document.adoptNode(fresh.querySelector("#keys .rows")));
}

async function onKeyClick(event) {
  const row = event.target.closest('[data-testid="key-row"]');
  if (!row) return;
  const path = `/api/keys/${encodeURIComponent(row.dataset.id)}`;
  if (event.target.matches('[data-testid="toggle-key"]')) {
    await ask("PATCH", path, { disabled: event.target.dataset.disabled !== "true" });
  } else if (event.target.matches('[data-testid="delete-key"]')) {
    if (!confirm("Delete this key? Its memories are kept.")) return;
    await ask("DELETE", path);
  } else return;
  await refreshKeys();
}

function settingsPage() {
  document.getElementById("settings").addEventListener("submit", doing(saveSettings));
  document.getElementById("new-key").addEventListener("submit", doing(addKey));
  document.getElementById("keys").addEventListener("click", doing(onKeyClick));
  const reindex = find("reindex");
  if (reindex) {
    reindex.addEventListener("click", doing(async () => {
      const done = await ask("POST", "/api/memory/reindex", {});
      tell(`${plural(done.queued, "memory")} queued.`);
    }));
  }
  const told = sessionStorage.getItem("told");
  if (told) tell(told);
  sessionStorage.removeItem("told");
}

if (document.body.dataset.page === "memory") memoryPage();
if (document.body.dataset.page === "settings") settingsPage();
