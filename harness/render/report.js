// The page is complete without this script; with it, it can be filtered and copied from.
"use strict";

const checks = [...document.querySelectorAll(".check")].map((element) => ({
  element,
  outcome: element.dataset.outcome,
  area: element.dataset.area,
  text: element.textContent.toLowerCase(),
}));
const groups = [...document.querySelectorAll(".group")];
const filter = document.querySelector(".filter");
const shown = document.querySelector(".shown");
const nothing = document.querySelector(".nothing");

function applyFilter() {
  const wanted = new FormData(filter);
  const words = wanted.get("text").toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const check of checks) {
    const visible =
      (!wanted.get("outcome") || wanted.get("outcome") === check.outcome) &&
      (!wanted.get("area") || wanted.get("area") === check.area) &&
      words.every((word) => check.text.includes(word));
    check.element.hidden = !visible;
    count += visible ? 1 : 0;
  }
  for (const group of groups) {
    group.hidden = !group.querySelector(".check:not([hidden])");
  }
  shown.textContent = `${count} of ${checks.length} checks`;
  nothing.hidden = count > 0;
}

function setOpen(open) {
  for (const check of checks) {
    if (!check.element.hidden) check.element.open = open;
  }
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || !target.matches(".check")) return;
  if (target.hidden) {
    filter.reset();
    applyFilter();
  }
  target.open = true;
  target.scrollIntoView();
}

async function copy(button) {
  const source = button.closest("figure").querySelector("pre");
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent.trimEnd());
    button.textContent = "Copied";
  } catch {
    // No permission, or an old browser: leave the commands selected for Ctrl-C.
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
}

filter.addEventListener("input", applyFilter);
filter.addEventListener("submit", (event) => event.preventDefault());
// The fields have their first values again only after the event.
filter.addEventListener("reset", () => setTimeout(applyFilter));
document.querySelector("[data-open]").addEventListener("click", () => setOpen(true));
document.querySelector("[data-close]").addEventListener("click", () => setOpen(false));
for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", () => copy(button));
  button.hidden = false;
}
addEventListener("hashchange", openTarget);
filter.hidden = false;
applyFilter();
openTarget();
