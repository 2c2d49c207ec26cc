import type { LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';

type Look = 'main' | 'default' | 'ghost' | 'danger';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  size?: 's' | 'm' | 'l';
  icon?: LucideIcon;
  /** Keeps the width, turns the icon into a spinner, and cannot be pressed again. */
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
  children: ReactNode;
}

/** A button with a word; a view has one `main`. The second click of a double click does nothing: another button may stand there by then. */
export function Button({ look = 'default', size = 'm', icon: Icon, busy, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      onClick={(event) => {
        // Nor does it send the form again. It is not `disabled`, which would take the focus from it.
        if (busy) event.preventDefault();
        else if (event.detail < 2) onClick?.(event);
      }}
      className={`btn ${look} ${size} ${rest.className ?? ''}`}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
    >
      {busy ? <span className="spin" aria-hidden="true" /> : Icon && <Icon className="i" aria-hidden="true" />}
      {children}
    </button>
  );
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: LucideIcon;
  /** What it does, for the tooltip and for those who cannot see the picture. */
  label: string;
  size?: 's' | 'm';
  ref?: Ref<HTMLButtonElement>;
}

/** A button that is a picture. */
export function IconButton({ icon: Icon, label, size = 'm', ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      title={label}
      aria-label={label}
      {...rest}
      className={`btn icon ghost ${size} ${rest.className ?? ''}`}
    >
      <Icon className="i" aria-hidden="true" />
    </button>
  );
}
