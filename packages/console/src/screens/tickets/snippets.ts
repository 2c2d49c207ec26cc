import type { CreatedTicket } from '@cadiz/client';
import { text } from '../../text/text.ts';

/** Code that uploads with a ticket, ready to be pasted. `input` is a file field of the page. */
export function ticketSnippets({ ticket, projectId, folderId }: CreatedTicket): Record<string, string> {
  const { tickets } = text;
  return {
    [tickets.page]: `import { createClient } from '@cadiz/client';

const cadiz = createClient({
  baseUrl: '${location.origin}',
  ticket: '${ticket}',
});
const file = await cadiz.upload(input.files[0]);`,
    [tickets.withoutPackages]: `const [file] = input.files;
const send = async (path, body) => {
  const answer = await fetch('${location.origin}/api/storage/' + path, {
    method: 'POST',
    headers: {
      Authorization: 'Bearer ${ticket}',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};
const details = {
  projectId: '${projectId}',
  folderId: ${JSON.stringify(folderId)},
  fileName: file.name,
  mimeType: file.type || 'application/octet-stream',
  fileSize: file.size,
};
const { presignedUrl, storeKey } = await send('presign', details);
const stored = await fetch(presignedUrl, { method: 'PUT', body: file });
if (!stored.ok) throw new Error(await stored.text());
const recorded = await send('record', { ...details, storeKey });`,
    curl: `curl -sS ${location.origin}/api/storage/tickets/current \\
  -H "Authorization: Bearer ${ticket}"`,
  };
}
