import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { loadReachable } from './once-reachable.ts';
import { membersQuery, methodsQuery, projectsQuery, queryClient, sessionQuery } from './queries.ts';
import { toAuditSearch } from './screens/audit/search.ts';
import { Pending, ScreenNotFound, ScreenProblem } from './screens/fallbacks.tsx';
import { Files } from './screens/files/files.tsx';
import { PageNotFound } from './screens/files/gone.tsx';
import { toFilesSearch } from './screens/files/search.ts';
import { Root } from './screens/root.tsx';
import { Shell } from './screens/shell/shell.tsx';
import { SignedIn } from './screens/signed-in.tsx';
import { isSignedOut } from './signed-out.ts';

/** A screen that is loaded when it is opened. The router loads the page again if the service has another version of it by now. */
const lazyScreen: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => loadReachable(load), name);

const root = createRootRoute({ component: Root, notFoundComponent: ScreenNotFound });

/** Before there is a session. */
const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  component: lazyScreen(() => import('./screens/entry/setup.tsx'), 'Setup'),
  beforeLoad: async () => {
    if (!(await queryClient.ensureQueryData(methodsQuery)).setup) throw redirect({ to: '/' });
  },
});
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyScreen(() => import('./screens/entry/sign-in.tsx'), 'SignIn'),
  // Only addresses of this console: anything else could lead somebody away.
  validateSearch: ({
    to,
    error,
  }: Record<string, unknown>): { to?: string | undefined; error?: string | undefined } => ({
    to: typeof to === 'string' && /^\/(?![/\\])/.test(to) ? to : undefined,
    // The code of an error, which signing in with the issuer has ended with.
    error: typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : undefined,
  }),
  beforeLoad: async () => {
    if ((await queryClient.ensureQueryData(methodsQuery)).setup) throw redirect({ to: '/setup' });
  },
});
const passwords = () => import('./screens/entry/passwords.tsx');
const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: '/forgot-password',
  component: lazyScreen(passwords, 'ForgotPassword'),
});
const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  component: lazyScreen(passwords, 'ResetPassword'),
});
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyScreen(() => import('./screens/entry/invitation.tsx'), 'Invitation'),
});
const verifyEmail = createRoute({
  getParentRoute: () => root,
  path: '/verify-email',
  component: lazyScreen(() => import('./screens/entry/verify-email.tsx'), 'VerifyEmail'),
});

/** Everything that needs a session. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: SignedIn,
  beforeLoad: async ({ location }) => {
    // Somebody who is being asked to sign in on the present screen stays there.
    if ((await queryClient.ensureQueryData(sessionQuery)) || isSignedOut()) return;
    if ((await queryClient.ensureQueryData(methodsQuery)).setup) throw redirect({ to: '/setup' });
    throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { to: location.href } });
  },
});
const command = createRoute({
  getParentRoute: () => signedIn,
  path: '/command',
  component: lazyScreen(() => import('./screens/entry/command.tsx'), 'Command'),
  loader: () => queryClient.ensureQueryData(projectsQuery),
});
const home = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  beforeLoad: async () => {
    const [only, ...others] = await queryClient.ensureQueryData(projectsQuery);
    if (!only || others.length > 0) throw redirect({ to: '/projects' });
    throw redirect({ to: '/projects/$projectId/files', params: { projectId: only.id } });
  },
});
const projects = createRoute({
  getParentRoute: () => signedIn,
  path: '/projects',
  component: lazyScreen(() => import('./screens/projects.tsx'), 'Projects'),
});
const newProject = createRoute({
  getParentRoute: () => signedIn,
  path: '/projects/new',
  component: lazyScreen(() => import('./screens/new-project.tsx'), 'NewProject'),
});

const shell = createRoute({
  getParentRoute: () => signedIn,
  id: 'shell',
  component: Shell,
  loader: () => queryClient.ensureQueryData(projectsQuery),
});
const project = createRoute({
  getParentRoute: () => shell,
  path: '/projects/$projectId',
  component: Outlet,
  // Until the role is known, a key or a drop would do nothing. If it cannot be read, the screens say so.
  loader: ({ params }) => queryClient.ensureQueryData(membersQuery(params.projectId)).catch(() => undefined),
});

/** The URL of a project without a page. */
const projectHome = createRoute({
  getParentRoute: () => project,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/projects/$projectId/files', params });
  },
});
const files = createRoute({
  getParentRoute: () => project,
  path: 'files',
  component: Files,
  validateSearch: toFilesSearch,
});
const folder = createRoute({
  getParentRoute: () => project,
  path: 'files/$folderId',
  component: Files,
  validateSearch: toFilesSearch,
});
const trash = createRoute({
  getParentRoute: () => project,
  path: 'trash',
  component: lazyScreen(() => import('./screens/trash/trash.tsx'), 'Trash'),
});
const usage = createRoute({
  getParentRoute: () => project,
  path: 'usage',
  component: lazyScreen(() => import('./screens/usage/usage.tsx'), 'Usage'),
  validateSearch: ({ days }: Record<string, unknown>): { days?: 7 | 90 | 365 | undefined } => ({
    days: days === 7 || days === 90 || days === 365 ? days : undefined,
  }),
});
const keys = createRoute({
  getParentRoute: () => project,
  path: 'keys',
  component: lazyScreen(() => import('./screens/keys/keys.tsx'), 'Keys'),
});
const tickets = createRoute({
  getParentRoute: () => project,
  path: 'tickets',
  component: lazyScreen(() => import('./screens/tickets/tickets.tsx'), 'Tickets'),
});
const webhooks = createRoute({
  getParentRoute: () => project,
  path: 'webhooks',
  component: lazyScreen(() => import('./screens/webhooks/webhooks.tsx'), 'Webhooks'),
});
const members = createRoute({
  getParentRoute: () => project,
  path: 'members',
  component: lazyScreen(() => import('./screens/members/members.tsx'), 'Members'),
});
const audit = createRoute({
  getParentRoute: () => project,
  path: 'audit',
  component: lazyScreen(() => import('./screens/audit/audit.tsx'), 'Audit'),
  validateSearch: toAuditSearch,
});
const settings = createRoute({
  getParentRoute: () => project,
  path: 'settings',
  component: lazyScreen(() => import('./screens/settings/settings.tsx'), 'Settings'),
});
/** Any other URL in a project: its frame stays. */
const nowhere = createRoute({
  getParentRoute: () => project,
  path: '$',
  component: PageNotFound,
});
const account = createRoute({
  getParentRoute: () => shell,
  path: '/account',
  component: lazyScreen(() => import('./screens/account/account.tsx'), 'Account'),
});
/** For the owner of the service. */
const users = createRoute({
  getParentRoute: () => shell,
  path: '/users',
  component: lazyScreen(() => import('./screens/users/users.tsx'), 'Users'),
});
const system = createRoute({
  getParentRoute: () => shell,
  path: '/system',
  component: lazyScreen(() => import('./screens/health/health.tsx'), 'Health'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    setup,
    signIn,
    forgotPassword,
    resetPassword,
    invitation,
    verifyEmail,
    signedIn.addChildren([
      home,
      command,
      projects,
      newProject,
      shell.addChildren([
        project.addChildren([
          projectHome,
          files,
          folder,
          trash,
          usage,
          keys,
          tickets,
          webhooks,
          members,
          audit,
          settings,
          nowhere,
        ]),
        account,
        users,
        system,
      ]),
    ]),
  ]),
  defaultPreload: 'intent',
  defaultPendingMs: 200,
  defaultPendingMinMs: 300,
  // What was begun in one project, such as a dialog, is not for another.
  defaultRemountDeps: ({ params }) => ('projectId' in params ? params.projectId : undefined),
  defaultPendingComponent: Pending,
  defaultErrorComponent: ScreenProblem,
  defaultNotFoundComponent: ScreenNotFound,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
  interface HistoryState {
    /** Whether a preview was opened from the list that the history has before it. */
    isOverList?: boolean;
    /** Whether a preview begins with the details of its file. */
    isAtDetails?: boolean;
  }
}
