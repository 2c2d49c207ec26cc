import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

interface RowProps {
  icon: LucideIcon;
  title: ReactNode;
  /** Beside the title. */
  badge?: ReactNode;
  /** What else to know about it, in a line. */
  detail: ReactNode;
  action?: ReactNode;
}

/** One thing of the account, and what can be done with it. */
export function Row({ icon: Icon, title, badge, detail, action }: RowProps) {
  return (
    <div className="line g3 item">
      <Icon className="i" aria-hidden="true" />
      <div className="grow">
        <span className="line">
          <b className="med clip">{title}</b>
          {badge}
        </span>
        <div className="cap quiet">{detail}</div>
      </div>
      {action}
    </div>
  );
}
