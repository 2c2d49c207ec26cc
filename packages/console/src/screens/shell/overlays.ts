import { createStore } from '../../store.ts';
import { phone } from './use-is-phone.ts';

/** What lies over every screen, by keys, from the palette and from menus. */
export type Overlay = 'palette' | 'shortcuts' | 'newFolder' | 'createKey' | 'invite' | 'more' | 'signOut';

export const overlay = createStore<Overlay | undefined>(undefined);
export const openOverlay = (one: Overlay): void => overlay.set(one);
export const closeOverlay = (): void => overlay.set(undefined);

/** Whether the list of uploads is open; on phones, only when somebody asks for it. */
export const isTrayOpen = createStore(!phone.matches);
phone.addEventListener('change', () => isTrayOpen.set(!phone.matches));

/** The id of the tab of phones that opens it. */
export const uploadsTab = 'uploads-tab';
