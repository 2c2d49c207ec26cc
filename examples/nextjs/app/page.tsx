'use client';

import { createClient } from '@cadiz/client';
import { useUploads } from '@cadiz/client/react';

const cadiz = createClient({
  baseUrl: process.env.NEXT_PUBLIC_CADIZ_URL ?? 'http://localhost:4000',
  ticket: async () => (await fetch('/api/upload-ticket', { method: 'POST' })).json(),
});

export default function Page() {
  const { uploads, add } = useUploads(cadiz);
  return (
    <main>
      <form action="/api/sign-in" method="post">
        <button type="submit">Sign in</button>
      </form>
      <input type="file" accept="image/*" multiple onChange={(event) => add(event.target.files ?? [])} />
      <ul>
        {uploads.map(({ id, name, state, error }) => (
          <li key={id}>
            {name}: {error ? error.message : state}
          </li>
        ))}
      </ul>
    </main>
  );
}
