import { type DragEvent, useState } from 'react';
import { toastError } from '../../components/toast.tsx';
import { type Chosen, mayMoveTo, type Target } from './chosen.ts';
import { loadCommands } from './load-commands.ts';

/** What is being dragged within this window: browsers hide it from the targets until it is dropped. */
let dragged: Chosen | undefined;

/** For what can be dragged. */
export const toDragSource = (find: () => Chosen) => ({
  draggable: true,
  onDragStart(event: DragEvent) {
    dragged = find();
    event.dataTransfer.effectAllowed = 'move';
    // Firefox drags nothing without data.
    event.dataTransfer.setData('text/plain', dragged.entries.map(({ name }) => name).join('\n'));
  },
  onDragEnd() {
    dragged = undefined;
  },
});

/** For what takes drops: a folder, or a part of the way to it. Without a target, it takes none. */
export function useDropTarget(projectId: string, target: Target | undefined) {
  const [isOver, setOver] = useState(false);
  if (!target) return {};
  return {
    'data-drop': isOver || undefined,
    onDragOver(event: DragEvent) {
      if (!dragged || !mayMoveTo(dragged, target.id)) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop(event: DragEvent) {
      setOver(false);
      if (!dragged || !mayMoveTo(dragged, target.id)) return;
      event.preventDefault();
      const chosen = dragged;
      loadCommands().then(({ moveChosen }) => moveChosen(projectId, chosen, target), toastError);
      dragged = undefined;
    },
  };
}
