import { createClient } from '@cadiz/client';
import { createRoot } from 'react-dom/client';
import { DropZone } from './drop-zone.tsx';

const { baseUrl } = await (await fetch('/settings')).json();
const ticket = async () => (await fetch('/ticket', { method: 'POST' })).json();
const client = createClient({ baseUrl, ticket });

createRoot(document.querySelector('main') as Element).render(
  <DropZone client={client} options={{ folder: 'dropped' }} />,
);
