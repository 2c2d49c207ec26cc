import { type DragEvent, useState } from 'react';
import { toastError } from '../../components/toast.tsx';
import { type Chosen, mayMoveTo, type Target } from './chosen.ts';
import { loadCommands } from './load-commands.ts';
import { isTouch } from './touch.ts';

/** What was last dragged within this window: browsers hide it from the targets until it is dropped. */
let dragged: Chosen | undefined;

/** Tells a drag of this window from others. `dragged` cannot: it may be of an earlier drag, since no event surely tells of the end. */
const ownType = `application/x-cadiz-${Math.random().toString(36).slice(2)}`;

/** What is being dragged, if a target takes it. */
const findDragged = ({ dataTransfer }: DragEvent, target: Target): Chosen | undefined =>
  dragged && dataTransfer.types.includes(ownType) && mayMoveTo(dragged, target.id) ? dragged : undefined;

/** For what can be dragged. */
export const toDragSource = (find: () => Chosen) => ({
  draggable: true,
  onDragStart(event: DragEvent) {
    // Resting a finger chooses.
    if (isTouch()) return event.preventDefault();
    dragged = find();
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData(ownType, 'own');
    event.dataTransfer.setData('text/plain', dragged.entries.map(({ name }) => name).join('\n'));
  },
});

/** For what takes drops: a folder, or a part of the way to it. Without a target, it takes none. */
export function useDropTarget(projectId: string, target: Target | undefined) {
  const [isOver, setOver] = useState(false);
  if (!target) return {};
  return {
    'data-drop': isOver || undefined,
    onDragOver(event: DragEvent) {
      if (!findDragged(event, target)) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop(event: DragEvent) {
      setOver(false);
      const chosen = findDragged(event, target);
      if (!chosen) return;
      event.preventDefault();
      loadCommands().then(({ moveChosen }) => moveChosen(projectId, chosen, target), toastError);
    },
  };
}
