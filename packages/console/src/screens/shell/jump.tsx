import { Search } from 'lucide-react';
import { text } from '../../text/text.ts';
import { Keys } from './keys.tsx';
import { openOverlay } from './overlays.ts';
import { commandKey } from './shortcuts.ts';

/** Opens the palette. */
export const Jump = () => (
  <button
    type="button"
    className="jump"
    title={text.palette.title}
    aria-haspopup="dialog"
    onClick={() => openOverlay('palette')}
  >
    <Search className="i s" aria-hidden="true" />
    <span className="clip">{text.palette.title}</span>
    <Keys keys={[commandKey, 'K']} />
  </button>
);
