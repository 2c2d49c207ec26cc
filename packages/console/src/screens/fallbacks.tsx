import { isCadizError } from '@cadiz/client';
import { useQueryErrorResetBoundary } from '@tanstack/react-query';
import { Link, useLocation, useRouter } from '@tanstack/react-router';
import { CloudAlert, MapPinOff, RotateCw } from 'lucide-react';
import { createContext, type ReactNode, useContext } from 'react';
import { Button } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { Empty, Skeleton } from '../components/parts.tsx';
import { messageOf } from '../components/problem.tsx';
import { text } from '../text/text.ts';
import { useServicePages } from './shell/pages.ts';
import { useTitle } from './title.ts';

/** Whether a screen is shown in the frame that all screens of a project have. */
export const InShell = createContext(false);

/** While a screen is being loaded. */
export const Pending = () => <Skeleton />;

/** A screen that failed: the service refused something, or the page itself has a mistake. */
export function ScreenProblem({ error }: { error: unknown }) {
  const router = useRouter();
  const { reset } = useQueryErrorResetBoundary();
  const { errors, shell } = text;
  const isRefused = isCadizError(error);
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return (
    <Fallback title={isRefused ? errors.pageFailed : shell.crashed}>
      <Failure
        error={error}
        title={isRefused ? messageOf(error) : shell.crashed}
        hint={isRefused ? shell.refusedHint : shell.crashedHint}
        retry={
          <Button look="main" icon={RotateCw} onClick={isRefused ? retry : () => location.reload()}>
            {isRefused ? text.common.retry : shell.reload}
          </Button>
        }
      />
    </Fallback>
  );
}

interface FailureProps {
  error: unknown;
  title: string;
  hint: string;
  /** The button that tries it again. */
  retry: ReactNode;
}

/** What could not be shown and why, in its place, and the ways to go on. */
export function Failure({ error, title, hint, retry }: FailureProps) {
  const { errors } = text;
  const isInShell = useContext(InShell);
  const isRefused = isCadizError(error);
  const code = isRefused ? error.code : 'error';
  const requestId = isRefused ? error.requestId : undefined;
  return (
    <div role="alert">
      <Empty
        icon={CloudAlert}
        isBad
        title={title}
        hint={hint}
        action={
          <>
            <div className="line wrap">
              {retry}
              <Link className="btn" to="/projects">
                {errors.toProjects}
              </Link>
              {isInShell && <ToHealth />}
            </div>
            <div className="reqid">
              <span className="mono">{isRefused ? code : messageOf(error)}</span>
              {requestId && (
                <>
                  <span>{errors.requestId}</span>
                  <span className="mono">{requestId}</span>
                </>
              )}
              <CopyButton value={`${code} ${requestId ?? ''}: ${messageOf(error)}`} label={errors.copyDetails} />
            </div>
          </>
        }
      />
    </div>
  );
}

/** Whoever owns the service may see there what is wrong. */
function ToHealth() {
  const [health] = useServicePages();
  const { pathname } = useLocation();
  if (!health || pathname === health.to) return null;
  return (
    <Link className="btn" to={health.to}>
      {health.label}
    </Link>
  );
}

interface NotFoundProps {
  title: string;
  hint: string;
  /** Where to go from here; to the projects by default. */
  ways?: ReactNode;
}

/** An address that leads nowhere. */
export const ScreenNotFound = () => <NotFound title={text.errors.notFound} hint={text.errors.notFoundHint} />;

/** Says what is not there, and leads to what is. */
export function NotFound({ title, hint, ways }: NotFoundProps) {
  return (
    <Fallback title={title}>
      <Empty
        icon={MapPinOff}
        title={title}
        hint={hint}
        action={
          ways ?? (
            <Link className="btn main" to="/projects">
              {text.errors.toProjects}
            </Link>
          )
        }
      />
    </Fallback>
  );
}

/** In the middle of the frame, or of the window if that is missing. */
function Fallback({ title, children }: { title: string; children: ReactNode }) {
  const heading = useTitle(title);
  const Frame = useContext(InShell) ? 'div' : 'main';
  return (
    <Frame className="scroll fallback">
      <h1 className="sr" ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </Frame>
  );
}
