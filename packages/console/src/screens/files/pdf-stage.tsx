import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ProblemNote } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { useLocalUrl } from '../../use-local-url.ts';

interface PdfStageProps {
  url: string;
  name: string;
}

/**
 * A document in the viewer of the browser, which runs nothing of it in this page. The store would have it saved rather than
 * shown, so its bytes are read first, and shown as a PDF and as nothing else.
 */
export function PdfStage({ url, name }: PdfStageProps) {
  const { data: content, error } = useQuery({
    queryKey: ['pdf', url],
    queryFn: async ({ signal }) => {
      const answer = await fetch(url, { signal });
      if (!answer.ok) throw new Error(text.preview.unreadable(answer.status));
      return new Blob([await answer.arrayBuffer()], { type: 'application/pdf' });
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const address = useLocalUrl(content);
  const frame = useFocusKept();
  if (error) return <ProblemNote error={error} />;
  return address === undefined ? null : <iframe ref={frame} src={address} title={name} />;
}

/** While the focus is on its way to another process, Chromium goes on sending keys there. */
const settledMilliseconds = 100;

/**
 * The frame of a viewer. As one starts, it takes the focus, and with it the keys that close the preview or lead to the next file: the
 * first time that the focus enters the frame, it comes back.
 */
function useFocusKept() {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    let hasComeBack = false;
    // Focus that enters a frame leaves the window.
    const onBlur = () => {
      const { current } = frame;
      if (hasComeBack || current === null || document.activeElement !== current) return;
      hasComeBack = true;
      setTimeout(() => current.closest<HTMLElement>('[role=dialog]')?.focus(), settledMilliseconds);
    };
    addEventListener('blur', onBlur);
    return () => removeEventListener('blur', onBlur);
  }, []);
  return frame;
}
