import type { LucideIcon } from 'lucide-react';
import { cloneElement, lazy, type ReactElement, type ReactNode, Suspense, useState } from 'react';

export interface MenuAction {
  label: string;
  icon?: LucideIcon;
  /** As people read it, such as `⌘A`. */
  shortcut?: string;
  isBad?: boolean;
  /** For one of several choices: whether it is the present one. */
  isOn?: boolean;
  isOff?: boolean;
  /** Whether a line stands above it. */
  isNewGroup?: boolean;
  run: () => void;
}

export interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement<Record<string, unknown>>;
  actions: readonly MenuAction[];
  /** Above the actions. */
  head?: ReactNode;
  side?: 'top' | 'bottom';
  align?: 'start' | 'end';
}

const load = () => import('./menu-popup.tsx');
const MenuPopup = lazy(async () => ({ default: (await load()).MenuPopup }));

/** A menu of actions: arrows, Home, End, the first letter and Escape work; the focus goes back to its button. */
export function Menu(props: MenuProps) {
  const [isWanted, setWanted] = useState(false);
  const button = cloneElement(props.trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: load,
    onFocus: load,
    onClick: () => setWanted(true),
  });
  if (!isWanted) return button;
  return (
    <Suspense fallback={button}>
      <MenuPopup {...props} />
    </Suspense>
  );
}
