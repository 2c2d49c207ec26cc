import { useQueryErrorResetBoundary } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { MapPinOff } from 'lucide-react';
import { Button } from '../components/button.tsx';
import { Empty, Skeleton } from '../components/parts.tsx';
import { ProblemNote } from '../components/problem.tsx';
import { text } from '../text/text.ts';

/** While a screen is being loaded. */
export function Pending() {
  return (
    <div aria-busy="true">
      <Skeleton />
    </div>
  );
}

/** A screen that failed. */
export function ScreenProblem({ error }: { error: unknown }) {
  const router = useRouter();
  const { reset } = useQueryErrorResetBoundary();
  const retry = (
    <Button
      onClick={() => {
        reset();
        void router.invalidate();
      }}
    >
      {text.common.retry}
    </Button>
  );
  return (
    <div className="page">
      <h1 className="t-title">{text.errors.pageFailed}</h1>
      <ProblemNote error={error} action={retry} />
    </div>
  );
}

export function ScreenNotFound() {
  const { notFound, notFoundHint, toProjects } = text.errors;
  return (
    <Empty icon={MapPinOff} title={notFound} hint={notFoundHint} action={<Link to="/projects">{toProjects}</Link>} />
  );
}
