// The state of the page is its address: space, moment, decision, block, pane and filters.

const NUMBERS = new Set(["at"]);
const listeners = new Set();

export function read() {
  const found = {};
  for (const [name, value] of new URLSearchParams(location.search)) {
    found[name] = NUMBERS.has(name) && /^\d{1,15}$/.test(value) ? Number(value) : value;
  }
  return found;
}

// Change parts of the state; null removes one. Steps of the scrubber replace the entry in the
// history of the browser, so that "back" returns to the decision or block before.
export function go(patch, {replace = false} = {}) {
  const before = read();
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({...before, ...patch})) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const address = `?${query}`;
  if (address === location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  for (const tell of listeners) tell();
}

export function subscribe(tell) {
  listeners.add(tell);
  addEventListener("popstate", tell);
  return () => {
    listeners.delete(tell);
    removeEventListener("popstate", tell);
  };
}
