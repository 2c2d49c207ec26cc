import { text } from '../../text/text.ts';

/** Where somebody is on the way to the first upload. */
export function Steps({ current }: { current: number }) {
  const { steps, step } = text.setup;
  return (
    <ol className="steps" aria-label={step(current + 1, steps.length)}>
      {steps.map((name, index) => (
        <li
          key={name}
          className={index === current ? 'is-now' : index < current ? 'is-done' : ''}
          aria-current={index === current ? 'step' : undefined}
        >
          <span className="n">{index + 1}</span>
          <span className={index === current ? '' : 'only-wide'}>{name}</span>
        </li>
      ))}
    </ol>
  );
}
