/** Stands for your app's own way to sign in: whoever asks is somebody. */
export function POST(): Response {
  const cookie = `user=${crypto.randomUUID()}; Path=/; HttpOnly; SameSite=Lax`;
  return new Response(null, { status: 303, headers: { Location: '/', 'Set-Cookie': cookie } });
}
