import { useEffect, useRef, useState } from 'react';

const length = 6;

interface CodeFieldProps {
  label: string;
  name: string;
  /** Why the code was refused: another one takes its place. */
  error: unknown;
}

/** A code of six digits, each in a box. One field over the boxes takes what is typed, pasted or filled in by the browser. */
export function CodeField({ label, name, error }: CodeFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const [code, setCode] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => {
    input.current?.focus();
    if (error) input.current?.select();
  }, [error]);
  return (
    <div className="code-field">
      {Array.from({ length }, (_, index) => (
        <span key={index} className={`input ${index === Math.min(at, length - 1) ? 'is-at' : ''}`} aria-hidden="true">
          {code[index]}
        </span>
      ))}
      <input
        ref={input}
        name={name}
        aria-label={label}
        inputMode="numeric"
        autoComplete="one-time-code"
        pattern={`\\d{${length}}`}
        required
        value={code}
        onChange={({ target }) => setCode(target.value.replaceAll(/\D/g, '').slice(0, length))}
        onSelect={({ currentTarget }) => setAt(currentTarget.selectionStart ?? 0)}
      />
    </div>
  );
}
