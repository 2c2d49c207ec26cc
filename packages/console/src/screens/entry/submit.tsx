import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { StillWorking } from '../../components/parts.tsx';

interface SubmitProps {
  isPending: boolean;
  disabled?: boolean;
  children: ReactNode;
}

/** What sends the form of an entry screen, and says so if that takes long. */
export function Submit({ isPending, disabled, children }: SubmitProps) {
  return (
    <>
      <Button look="main" size="l" className="wide" type="submit" busy={isPending} disabled={disabled}>
        {children}
      </Button>
      {isPending && <StillWorking />}
    </>
  );
}
