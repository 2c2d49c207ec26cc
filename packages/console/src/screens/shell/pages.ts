import {
  ChartColumn,
  FolderOpen,
  HeartPulse,
  KeyRound,
  ScrollText,
  Settings2,
  Ticket,
  Trash2,
  UserRoundCog,
  UsersRound,
  Webhook,
} from 'lucide-react';
import { useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { HealthBadge } from './health-badge.tsx';

/** The pages of a project, in the order of the navigation. */
export const projectPages = [
  { to: '/projects/$projectId/files', label: text.nav.files, icon: FolderOpen, group: 'content' },
  { to: '/projects/$projectId/trash', label: text.nav.trash, icon: Trash2, group: 'content' },
  { to: '/projects/$projectId/usage', label: text.nav.usage, icon: ChartColumn, group: 'content' },
  { to: '/projects/$projectId/keys', label: text.nav.keys, icon: KeyRound, group: 'project' },
  { to: '/projects/$projectId/tickets', label: text.nav.tickets, icon: Ticket, group: 'project' },
  { to: '/projects/$projectId/webhooks', label: text.nav.webhooks, icon: Webhook, group: 'project' },
  { to: '/projects/$projectId/members', label: text.nav.members, icon: UsersRound, group: 'project' },
  { to: '/projects/$projectId/audit', label: text.nav.audit, icon: ScrollText, group: 'project' },
  { to: '/projects/$projectId/settings', label: text.nav.settings, icon: Settings2, group: 'project' },
] as const;

/** The pages of the service, for its owner, and what stands beside their links. */
const servicePages = [
  { to: '/system', label: text.nav.health, icon: HeartPulse, Badge: HealthBadge },
  { to: '/users', label: text.nav.people, icon: UserRoundCog, Badge: undefined },
] as const;

export const useServicePages = () => (useUser().role === 'owner' ? servicePages : []);

/** Whether a page has a tab of its own on phones. */
export const hasTab = (to: string): boolean => /\/(?:files|usage)$/.test(to);
