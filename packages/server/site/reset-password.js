import { call, onSubmit, say, takeToken } from './pages.js';

const token = takeToken();
const form = document.querySelector('#form');

onSubmit(form, async (fields) => {
  const { endedSessions } = await call('POST', '/api/auth/reset-password', {
    token,
    newPassword: fields.get('newPassword'),
    revokeApiKeys: fields.has('revokeApiKeys'),
  });
  say(
    form,
    `Your new password is set. ${endedSessions === 1 ? '1 session has' : `${endedSessions} sessions have`} ended.`,
  );
});
