import { Check } from 'lucide-react';
import { text } from '../../text/text.ts';

interface StepsProps {
  /** Those of setting up, by default. */
  names?: readonly string[];
  /** Which is being done now, from 0 on. */
  current: number;
}

/** Where somebody is on the way to the first upload, or from there to an application. */
export function Steps({ names = text.setup.steps, current }: StepsProps) {
  return (
    <ol className="steps" aria-label={text.setup.step(current + 1, names.length)}>
      {names.map((name, index) => (
        <li
          key={name}
          className={index === current ? 'is-now' : index < current ? 'is-done' : ''}
          aria-current={index === current ? 'step' : undefined}
        >
          <span className="n">{index < current ? <Check className="i s" aria-hidden="true" /> : index + 1}</span>
          <span className={index === current ? '' : 'only-wide'}>{name}</span>
        </li>
      ))}
    </ol>
  );
}
