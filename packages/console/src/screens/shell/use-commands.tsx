import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { Box, CircleUser, FolderPlus, KeyRound, LayoutGrid, Search, Upload, UserPlus } from 'lucide-react';
import type { ReactNode } from 'react';
import { clientOf } from '../../api.ts';
import { projectsQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useSettled } from '../../use-settled.ts';
import { KindIcon } from '../files/kind-icon.tsx';
import type { Entry } from '../files/use-listing.ts';
import { toNameKey } from '../uploads/names.ts';
import { uploadChosen } from '../uploads/upload-chosen.ts';
import type { Here } from './here.ts';
import { openOverlay } from './overlays.ts';
import { projectPages, useServicePages } from './pages.ts';
import { useAccountActions } from './use-account-actions.ts';

/** One line of the palette. */
export interface Command {
  id: string;
  label: string;
  icon: ReactNode;
  /** Stands at the end of the line, such as where a file is. */
  tail?: string | undefined;
  keys?: readonly string[];
  /** Where it leads, if it leads somewhere: that can be opened in a new tab. */
  href?: string;
  run: () => void;
}

export interface CommandGroup {
  title: string;
  commands: readonly Command[];
}

/** The most files and folders that are offered. */
const mostFound = 8;

/** The most projects that are offered: of more, typing finds any. */
const mostProjects = 50;

/** Whether all that was typed is in a label. */
const matches =
  (words: string) =>
  ({ label }: Command): boolean => {
    const inLabel = toNameKey(label);
    return toNameKey(words)
      .split(/\s+/)
      .every((word) => inLabel.includes(word));
  };

/** What can be done from here, as far as it fits what was typed. */
export function useCommands(here: Here, typed: string): { groups: readonly CommandGroup[]; isPending: boolean } {
  const words = typed.trim();
  const found = useFound(here.projectId, useSettled(words));
  const actions = useActions(here, words);
  const fits = matches(words);
  const places = usePlaces(here, fits);
  const groups = [
    // Until those for these words come, those of the words before are shown, as far as they fit.
    { title: text.palette.files, commands: words === '' ? [] : found.commands.filter(fits) },
    { title: text.palette.do, commands: actions.filter((one) => one.id === 'search' || fits(one)) },
    { title: text.palette.goTo, commands: places },
  ];
  return { groups: groups.filter(({ commands }) => commands.length > 0), isPending: found.isPending };
}

function useGo(): (href: string) => Pick<Command, 'href' | 'run'> {
  const { history } = useRouter();
  return (href) => ({ href, run: () => history.push(href) });
}

/** Files and folders of the project. */
function useFound(projectId: string | undefined, words: string): { commands: readonly Command[]; isPending: boolean } {
  const go = useGo();
  const { data, isFetching } = useQuery({
    queryKey: ['palette', projectId, words],
    queryFn: ({ signal }) =>
      clientOf(projectId ?? '').files.page({ search: words, paths: true, limit: mostFound, sort: 'name', signal }),
    enabled: projectId !== undefined && words !== '',
    placeholderData: (before) => (words === '' ? undefined : before),
  });
  if (!projectId || !data || words === '') return { commands: [], isPending: isFetching };
  const base = `/projects/${projectId}/files`;
  const at = (folder: string | null) => (folder === null ? base : `${base}/${folder}`);
  const toTail = (path: readonly { name: string }[] | undefined) => path?.map(({ name }) => name).join(' / ');
  const folders = data.folders.map((item): Command => {
    const entry: Entry = { kind: 'folder', id: item.id, name: item.name, item };
    return {
      ...go(at(item.id)),
      id: item.id,
      label: item.name,
      icon: <KindIcon entry={entry} />,
      tail: toTail(item.path),
    };
  });
  const files = data.files.map((item): Command => {
    const entry: Entry = { kind: 'file', id: item.id, name: item.fileName, item };
    const href = `${at(item.folderId)}?file=${item.id}`;
    return {
      ...go(href),
      id: item.id,
      label: item.fileName,
      icon: <KindIcon entry={entry} />,
      tail: toTail(item.path),
    };
  });
  return { commands: [...folders, ...files], isPending: isFetching };
}

/** The URL of a search in a project. The router marks words that it would otherwise read as a number or as true. */
const toSearch = (router: ReturnType<typeof useRouter>, projectId: string, q: string): string =>
  router.buildLocation({ to: '/projects/$projectId/files', params: { projectId }, search: { scope: 'project', q } })
    .href;

function useActions({ projectId, folderId, role }: Here, words: string): readonly Command[] {
  const go = useGo();
  const router = useRouter();
  const { palette } = text;
  // The first, the account, is among the places; choices, such as a theme, are offered once something is typed.
  const shown = useAccountActions().filter(({ isOn }, index) => index > 0 && (words !== '' || isOn === undefined));
  const account = shown.map(
    ({ label, icon: Icon, run, shortcut }): Command => ({
      id: label,
      label,
      icon: Icon && <Icon className="i" aria-hidden="true" />,
      run,
      ...(shortcut && { keys: [shortcut] }),
    }),
  );
  const canChange = projectId !== undefined && role !== undefined && role !== 'viewer';
  return [
    ...(canChange
      ? [
          {
            id: 'upload',
            label: palette.uploadFiles,
            icon: <Icon of={Upload} />,
            keys: ['U'],
            run: () => uploadChosen(projectId, folderId),
          },
          {
            id: 'newFolder',
            label: palette.newFolder,
            icon: <Icon of={FolderPlus} />,
            keys: ['N'],
            run: () => openOverlay('newFolder'),
          },
          {
            id: 'createKey',
            label: palette.createKey,
            icon: <Icon of={KeyRound} />,
            run: () => openOverlay('createKey'),
          },
        ]
      : []),
    ...(role === 'owner'
      ? [{ id: 'invite', label: palette.invite, icon: <Icon of={UserPlus} />, run: () => openOverlay('invite') }]
      : []),
    ...account,
    ...(projectId && words !== ''
      ? [
          {
            ...go(toSearch(router, projectId, words)),
            id: 'search',
            label: palette.searchProject(words),
            icon: <Icon of={Search} />,
          },
        ]
      : []),
  ];
}

const Icon = ({ of: Picture }: { of: typeof Search }) => <Picture className="i" aria-hidden="true" />;

function usePlaces({ projectId }: Here, fits: (command: Command) => boolean): readonly Command[] {
  const go = useGo();
  const { data: projects = [] } = useQuery(projectsQuery);
  const { nav, palette } = text;
  const service = useServicePages();
  const pages = projectId
    ? projectPages.map(
        ({ to, label, icon }): Command => ({
          ...go(to.replace('$projectId', projectId)),
          id: to,
          label,
          icon: <Icon of={icon} />,
          tail: palette.page,
        }),
      )
    : [];
  const others = projects
    .filter(({ id }) => id !== projectId)
    .map(
      ({ id, name }): Command => ({
        ...go(`/projects/${id}/files`),
        id,
        label: name,
        icon: <Icon of={Box} />,
        tail: palette.project,
      }),
    );
  const before = [
    ...pages,
    ...service.map(
      ({ to, label, icon }): Command => ({ ...go(to), id: to, label, icon: <Icon of={icon} />, tail: palette.page }),
    ),
    { ...go('/account'), id: 'account', label: nav.account, icon: <Icon of={CircleUser} />, tail: palette.page },
  ];
  const all = {
    ...go('/projects'),
    id: 'projects',
    label: nav.allProjects,
    icon: <Icon of={LayoutGrid} />,
    tail: palette.page,
  };
  return [...before.filter(fits), ...others.filter(fits).slice(0, mostProjects), ...[all].filter(fits)];
}
