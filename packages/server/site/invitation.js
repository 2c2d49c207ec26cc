import { call, onSubmit, say, takeToken } from './pages.js';

const token = takeToken();
const forms = Object.fromEntries([...document.forms].map((form) => [form.id, form]));

function show(id) {
  for (const form of Object.values(forms)) form.hidden = form.id !== id;
  forms[id].querySelector('input, button').focus();
}

async function showWhoAsks() {
  const session = await call('GET', '/api/auth/get-session');
  if (!session) return show('sign-up');
  document.querySelector('#email').textContent = session.user.email;
  show('accept');
}

for (const button of document.querySelectorAll('[data-show]')) {
  button.addEventListener('click', () => show(button.dataset.show));
}
document.querySelector('#sign-out').addEventListener('click', async () => {
  await call('POST', '/api/auth/sign-out', {});
  show('sign-in');
});

onSubmit(forms.accept, async () => {
  const { role } = await call('POST', '/api/invitations/accept', { token });
  say(forms.accept, `You are in: your role in the project is ${role}.`);
});
onSubmit(forms['sign-up'], async (fields) => {
  await call('POST', '/api/auth/sign-up/email', Object.fromEntries(fields), { 'X-Invitation': token });
  say(forms['sign-up'], 'Your account is made, and you are a member of the project.');
});
onSubmit(forms['sign-in'], async (fields) => {
  const { twoFactorRedirect } = await call('POST', '/api/auth/sign-in/email', Object.fromEntries(fields));
  if (twoFactorRedirect) show('code');
  else await showWhoAsks();
});
onSubmit(forms.code, async (fields) => {
  await call('POST', '/api/auth/two-factor/verify-totp', Object.fromEntries(fields));
  await showWhoAsks();
});

await showWhoAsks();
