// The HTTP API, as any client uses it. Answers as of a version never change while the log is the
// same, so the last ones are kept; those of the present are kept until the head moves.

import {useLayoutEffect, useRef, useState} from "htm/preact";

const ROOT = new URL("../v1/", location.href);
const KEPT_MAX = 80;
const kept = new Map();
let token = sessionStorage.getItem("mnemic-token") || "";

export function setToken(value) {
  token = value.trim();
  if (token) sessionStorage.setItem("mnemic-token", token);
  else sessionStorage.removeItem("mnemic-token");
  kept.clear();
}

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || `The server answered ${status}.`);
    Object.assign(this, {status, code: document.code, recovery: document.recovery || ""});
  }
}

export function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values || {})) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) found.append(name, each);
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

export const path = (...parts) => parts.map(encodeURIComponent).join("/");
export const ofSpace = (space, ...parts) => path("spaces", space, ...parts);

function headers(more) {
  return token ? {...more, authorization: `Bearer ${token}`} : more;
}

export async function ask(where, {values, body, method, signal} = {}) {
  const url = new URL(where + query(values), ROOT);
  const reply = await fetch(url, {
    method: method || (body === undefined ? "GET" : "POST"),
    headers: headers(body === undefined ? {} : {"content-type": "application/json"}),
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  const document = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Problem(reply.status, document);
  return document;
}

// A long operation, with progress: (done, todo) is called until the result is there.
export async function askLong(where, {body, progress, signal}) {
  const reply = await fetch(new URL(where, ROOT), {
    method: "POST",
    headers: headers({"content-type": "application/json", accept: "text/event-stream"}),
    body: JSON.stringify(body),
    signal,
  });
  if (!reply.ok) throw new Problem(reply.status, await reply.json().catch(() => ({})));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) throw new Error("The server closed the connection before the result.");
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = {};
      for (const line of text.slice(0, end).split("\n")) {
        const [, name, rest] = /^(\w*): ?(.*)$/.exec(line) || [];
        if (name) event[name] = name === "data" && event.data ? `${event.data}\n${rest}` : rest;
      }
      text = text.slice(end + 2);
      if (!event.data) continue;
      const found = JSON.parse(event.data);
      if (event.event === "progress") progress(found.done, found.todo);
      else if (event.event === "result") return found;
      else if (event.event === "problem") throw new Problem(found.status, found);
    }
  }
}

const keyOf = (where, options) => JSON.stringify([where, options.values, options.body, options.since]);

async function remembered(where, options, signal) {
  const key = keyOf(where, options);
  if (kept.has(key)) {
    const found = kept.get(key);
    kept.delete(key);
    kept.set(key, found);
    return found;
  }
  const found = await ask(where, {...options, signal});
  kept.set(key, found);
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
  return found;
}

export const forget = () => kept.clear();

// Questions that are not answered yet: the page is busy while there are any.
let open = 0;
function count(by) {
  open += by;
  document.getElementById("app").setAttribute("aria-busy", String(open > 0));
}

// The answer to a question, asked again whenever it changes, or when `since` does; the former answer is shown until the
// next one is there (`stale`), so that nothing flickers while the scrubber moves.
export function useAnswer(where, options = {}, {wait = 0} = {}) {
  const [state, set] = useState({});
  const key = where && keyOf(where, options);
  const latest = useRef(key);
  latest.current = key;
  // Before the browser paints: an effect after that would ask a frame later.
  useLayoutEffect(() => {
    if (!where) {
      set({});
      return undefined;
    }
    const stop = new AbortController();
    const cached = kept.get(key);
    if (cached) {
      set({answer: cached, key});
      return undefined;
    }
    let counted = true;
    const done = () => {
      if (counted) count(-1);
      counted = false;
    };
    count(1);
    const send = () => {
      remembered(where, options, stop.signal).then(
        (answer) => latest.current === key && set({answer, key}),
        (error) => error.name !== "AbortError" && latest.current === key && set({error, key}),
      ).finally(done);
    };
    const timer = wait ? setTimeout(send, wait) : send();
    return () => {
      clearTimeout(timer);
      stop.abort();
      done();
    };
  }, [key]);
  return {...state, stale: Boolean(key) && state.key !== key};
}
