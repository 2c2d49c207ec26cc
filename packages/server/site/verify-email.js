import { call, onSubmit, say, takeToken } from './pages.js';

const token = takeToken();
const forms = Object.fromEntries([...document.forms].map((form) => [form.id, form]));

async function showWhoAsks() {
  const session = await call('GET', '/api/auth/get-session');
  forms.verify.hidden = !session;
  forms['sign-in'].hidden = Boolean(session);
  document.querySelector('#email').textContent = session?.user.email ?? '';
}

onSubmit(forms.verify, async () => {
  const { email } = await call('POST', '/api/account/email/verify', { token });
  say(forms.verify, `Your address ${email} is confirmed.`);
});
onSubmit(forms['sign-in'], async (fields) => {
  await call('POST', '/api/auth/sign-in/email', Object.fromEntries(fields));
  await showWhoAsks();
});

await showWhoAsks();
