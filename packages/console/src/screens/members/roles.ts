import type { Role } from '../../queries.ts';
import { text } from '../../text/text.ts';

const roles: readonly Role[] = ['owner', 'editor', 'viewer'];
export const roleOptions = roles.map((value) => ({ value, label: text.members.roles[value] }));
