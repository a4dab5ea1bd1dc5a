"use strict";
// Everything the page knows comes from the API: reload it at any time, even in the middle of an answer.

const api = document.body.dataset.api + "/v1/user";
const me = new URLSearchParams(location.search).get("user") || "alice";
const at = (id) => document.getElementById(id);
let talk = null; // the conversation on screen
let opened = null; // aborted as soon as another conversation is opened, or the same one again

at("me").textContent = me;

async function call(method, path, body, headers = {}) {
  const answer = await fetch(api + path, {
    method,
    headers: { authorization: `Bearer ${me}`, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 204) return null;
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.message);
  return data;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function tell(text) {
  at("status").textContent = text;
}

async function showList() {
  const page = await call("GET", "/conversations?mode=latest-fork&limit=50");
  at("list").replaceChildren(
    ...page.data.map((one) => {
      const item = element("li");
      const button = element("button", one.title || "Untitled");
      button.type = "button";
      button.append(element("small", one.lastMessagePreview || ""));
      const current = talk && one.conversationGroupId === talk.conversationGroupId;
      button.setAttribute("aria-current", String(Boolean(current)));
      button.onclick = () => open(one.id);
      item.append(button);
      return item;
    }),
  );
}

async function open(id) {
  if (opened) opened.abort();
  const mine = (opened = new AbortController());
  const found = await call("GET", `/conversations/${id}`);
  if (mine.signal.aborted) return;
  talk = found;
  history.replaceState(null, "", `?user=${encodeURIComponent(me)}#${id}`);
  at("title").textContent = talk.title || "New conversation";
  const mayWrite = talk.accessLevel !== "reader";
  at("say").hidden = !mayWrite;
  at("share").hidden = !["owner", "manager"].includes(talk.accessLevel);
  const members = await call("GET", `/conversations/${id}/memberships`);
  if (mine.signal.aborted) return;
  at("members").textContent = members.data.map((one) => `${one.userId} (${one.accessLevel})`).join(", ");
  const [page, forks] = await Promise.all([
    call("GET", `/conversations/${id}/messages?tail=true&limit=200`),
    call("GET", `/conversations/${id}/forks`),
  ]);
  if (mine.signal.aborted) return;
  // The first message of a conversation on this path is where it leaves its parent.
  const known = new Set();
  for (const message of page.data) {
    message.isFirst = !known.has(message.conversationId);
    known.add(message.conversationId);
  }
  at("messages").replaceChildren(...page.data.map((message) => shown(message, forks.data, mayWrite)));
  await showList();
  follow(id, mine);
}

function shown(message, forks, mayWrite) {
  const item = element("li", undefined, message.role);
  item.append(element("p", message.userId || message.agentId, "by"));
  item.append(element("p", message.content, "text"));
  if (message.role === "user") item.append(tools(message, forks, mayWrite));
  return item;
}

// Branches at a message: the conversation that contains it, and every fork that replaced it or that it replaced.
function tools(message, forks, mayWrite) {
  const row = element("div", undefined, "tools");
  const home = forks.find((fork) => fork.conversationId === message.conversationId);
  const isFirst = home && home.forkedFromMessageId && message.isFirst;
  const point = isFirst ? home.forkedFromMessageId : message.id;
  const others = forks.filter((fork) => fork.forkedFromMessageId === point);
  if (others.length) {
    const origin = isFirst ? home.forkedAtConversationId : message.conversationId;
    const branches = [origin, ...others.map((fork) => fork.conversationId)];
    const now = branches.indexOf(isFirst ? home.conversationId : origin);
    const step = (by, label, text) => {
      const button = element("button", text);
      button.type = "button";
      button.setAttribute("aria-label", label);
      button.disabled = !branches[now + by];
      button.onclick = () => open(branches[now + by]);
      return button;
    };
    row.append(step(-1, "Previous branch", "‹"), element("span", `${now + 1} / ${branches.length}`, "branch"), step(1, "Next branch", "›"));
  }
  if (mayWrite) {
    const edit = element("button", "Ask differently", "edit");
    edit.type = "button";
    edit.onclick = async () => {
      const content = prompt("Ask differently", message.content);
      if (!content || !content.trim()) return;
      const body = { newMessage: { id: crypto.randomUUID(), content } };
      const fork = await call("POST", `/conversations/${talk.id}/messages/${message.id}/fork`, body);
      await ask(fork.id);
    };
    row.append(edit);
  }
  return row;
}

async function ask(id) {
  await fetch(`/answer/${id}`, { method: "POST" });
  await open(id);
}

// Follow the answer in progress: fetch can send a token, which EventSource cannot.
async function follow(id, mine) {
  let last = "";
  let item = null;
  while (!mine.signal.aborted) {
    try {
      const answer = await fetch(`${api}/conversations/${id}/response`, {
        headers: { authorization: `Bearer ${me}`, ...(last ? { "last-event-id": last } : {}) },
        signal: mine.signal,
      });
      if (answer.status === 204) {
        await new Promise((done) => setTimeout(done, 500)); // nothing yet, or nothing new
        continue;
      }
      if (!answer.ok) return;
      for await (const event of events(answer.body)) {
        if (mine.signal.aborted) return;
        const data = JSON.parse(event.data);
        if (event.event === "start" && data.status !== "in_progress" && !last) {
          last = `${data.recordingId}:end`; // it ended before we connected, so it is already a message
          break;
        }
        if (event.event === "start" && !item) {
          item = element("li", undefined, "assistant live");
          item.append(element("p", "model", "by"), element("p", "", "text"));
          at("messages").append(item);
          at("stop").hidden = false;
        } else if (event.event === "token") {
          item.querySelector(".text").textContent += data.content;
        } else if (event.event === "end") {
          at("stop").hidden = true;
          return open(id);
        }
        last = event.id;
      }
    } catch (error) {
      if (mine.signal.aborted) return;
      tell("Connection lost; reconnecting…");
      await new Promise((done) => setTimeout(done, 500));
    }
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    let end;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const lines = buffer.slice(0, end).split("\n");
      buffer = buffer.slice(end + 2);
      const event = {};
      for (const line of lines) {
        const colon = line.indexOf(": ");
        if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2);
      }
      if (event.event) yield event;
    }
  }
}

at("new").onclick = async () => {
  const made = await call("POST", "/conversations", { id: crypto.randomUUID() });
  await open(made.id);
  at("text").focus();
};

at("say").onsubmit = async (submitted) => {
  submitted.preventDefault();
  const content = at("text").value;
  at("text").value = "";
  await call("POST", `/conversations/${talk.id}/messages`, { id: crypto.randomUUID(), content });
  await ask(talk.id);
};

at("text").onkeydown = (pressed) => {
  if (pressed.key === "Enter" && !pressed.shiftKey) {
    pressed.preventDefault();
    at("say").requestSubmit();
  }
};

at("stop").onclick = () => call("POST", `/conversations/${talk.id}/cancel-response`);

at("share").onsubmit = async (submitted) => {
  submitted.preventDefault();
  const form = new FormData(at("share"));
  const body = { userId: form.get("user"), accessLevel: form.get("level") };
  await call("POST", `/conversations/${talk.id}/memberships`, body);
  at("share").reset();
  await open(talk.id);
  tell(`Shared with ${body.userId}.`);
};

addEventListener("unhandledrejection", (failed) => tell(failed.reason.message));
setInterval(() => showList().catch(() => {}), 3000);
(async () => {
  await showList();
  if (location.hash.length > 1) await open(location.hash.slice(1));
})();
