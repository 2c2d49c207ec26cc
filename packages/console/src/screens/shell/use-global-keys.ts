import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { undoLatest } from '../../undo.ts';
import { uploadChosen } from '../uploads/upload-chosen.ts';
import type { Here } from './here.ts';
import { isCovered } from './is-covered.ts';
import { isTyping } from './is-typing.ts';
import { keyOf } from './key-of.ts';
import { isTrayOpen, openOverlay } from './overlays.ts';
import { areLettersOn } from './shortcuts.ts';

/** How long after G another letter says where to, in milliseconds. */
const chordMilliseconds = 1500;

/** Keys that work on every screen. */
export function useGlobalKeys(here: Here): void {
  const navigate = useNavigate();
  const now = useRef({ ...here, navigate });
  now.current = { ...here, navigate };
  useEffect(() => {
    let chordUntil = 0;

    const places: Record<string, () => void> = {
      f: () => goTo('/projects/$projectId/files'),
      t: () => goTo('/projects/$projectId/trash'),
      u: () => goTo('/projects/$projectId/usage'),
      k: () => goTo('/projects/$projectId/keys'),
      p: () => void now.current.navigate({ to: '/projects' }),
    };
    function goTo(to: `/projects/$projectId/${'files' | 'trash' | 'usage' | 'keys'}`): void {
      const { projectId, navigate } = now.current;
      if (projectId) void navigate({ to, params: { projectId } });
    }

    const letters: Record<string, () => void> = {
      '?': () => openOverlay('shortcuts'),
      g: () => {
        chordUntil = performance.now() + chordMilliseconds;
      },
      u: () => {
        const { projectId, folderId, role } = now.current;
        if (projectId && role && role !== 'viewer') uploadChosen(projectId, folderId);
      },
      U: () => isTrayOpen.set(!isTrayOpen.read()),
    };

    function onKeyDown(event: KeyboardEvent): void {
      const { metaKey, ctrlKey, altKey } = event;
      const key = keyOf(event);
      if ((metaKey || ctrlKey) && !altKey && key === 'k') {
        event.preventDefault();
        openOverlay('palette');
        return;
      }
      if ((metaKey || ctrlKey) && !altKey && key === 'z' && !isTyping(event) && !isCovered()) {
        event.preventDefault();
        undoLatest();
        return;
      }
      if (event.defaultPrevented || metaKey || ctrlKey || altKey) return;
      if (!areLettersOn.read() || isTyping(event) || isCovered()) return;
      const isChord = performance.now() < chordUntil;
      if (key !== 'Shift') chordUntil = 0;
      const run = isChord ? places[key] : letters[key];
      if (!run) return;
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat) run();
    }
    // Before the list, for which the second letter of two may mean something else.
    window.addEventListener('keydown', onKeyDown, { capture: true });
    return () => window.removeEventListener('keydown', onKeyDown, { capture: true });
  }, []);
}
