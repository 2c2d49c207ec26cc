import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef } from 'react';
import { isOfNetwork } from '../../api.ts';
import { toastError } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';

/** The fields of a form, as they were sent. */
export type Fields = Record<string, string>;

/**
 * Sends a form once at a time, and keeps what went wrong. Whoever has left the form before the answer is told that by a message.
 * @param send also told whether the form is still there
 */
export function useForm<T>(send: (fields: Fields, isThere: () => boolean) => Promise<T>) {
  const form = useRef({ isThere: true }).current;
  useEffect(() => {
    form.isThere = true;
    return () => {
      form.isThere = false;
    };
  }, [form]);
  // A second click may come before the button has been drawn as busy.
  const isSending = useRef(false);
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: (fields: Fields) => send(fields, () => form.isThere),
    onError(error) {
      // It may have been done: that is read before somebody tries again.
      if (isOfNetwork(error)) void queryClient.invalidateQueries();
      if (!form.isThere) void toastError(error);
    },
    onSettled: () => {
      isSending.current = false;
    },
  });
  return {
    error,
    isPending,
    reset,
    onSubmit(event: FormEvent<HTMLFormElement>) {
      event.preventDefault();
      if (isSending.current) return;
      isSending.current = true;
      const entries = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)] as const);
      mutate(Object.fromEntries(entries));
    },
  };
}
