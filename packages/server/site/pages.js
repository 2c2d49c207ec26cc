/** The token in the fragment, which no server and no Referer gets to see; it leaves the address bar and the history. */
export function takeToken() {
  const token = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  return token;
}

/** @throws Error with the sentence of the problem document */
export async function call(method, path, body, headers = {}) {
  const json = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const response = await fetch(path, { method, headers: { ...json, ...headers }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (response.ok) return answer;
  throw new Error([answer.title, answer.detail].filter((text, at, all) => all.indexOf(text) === at).join(' '));
}

/** Sends a form once at a time, and shows what went wrong. */
export function onSubmit(form, send) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const alert = form.querySelector('[role=alert]');
    const button = form.querySelector('button:not([type=button])');
    alert.textContent = '';
    button.disabled = true;
    try {
      await send(new FormData(form));
    } catch (error) {
      alert.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}

/** The end of a page: the form goes, and a sentence stays. */
export function say(form, sentence) {
  form.hidden = true;
  const done = document.querySelector('#done');
  done.textContent = sentence;
  done.hidden = false;
}
