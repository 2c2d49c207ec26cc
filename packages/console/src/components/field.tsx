import { Eye, EyeOff } from 'lucide-react';
import { type InputHTMLAttributes, type ReactNode, type Ref, useId, useState } from 'react';
import { text } from '../text/text.ts';

interface FieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'size'> {
  label: string;
  hint?: ReactNode;
  /** What is wrong with it; it takes the place of the hint. */
  problem?: string | undefined;
  /** Stands in the field, after what is typed, such as a unit. */
  after?: ReactNode;
  ref?: Ref<HTMLInputElement>;
}

/** A label, its input, and a hint or what is wrong below it. */
export function Field({ label, hint, problem, after, ...input }: FieldProps) {
  const id = useId();
  const below = problem ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className={`input ${problem ? 'is-bad' : ''}`}>
        <input
          id={id}
          aria-invalid={problem ? true : undefined}
          aria-describedby={below ? `${id}-below` : undefined}
          {...input}
        />
        {after}
      </div>
      {below && (
        <span id={`${id}-below`} className={`hint ${problem ? 'bad' : ''}`} role={problem ? 'alert' : undefined}>
          {below}
        </span>
      )}
    </div>
  );
}

/** A field whose text can be looked at. */
export function PasswordField(props: FieldProps) {
  const [isShown, setShown] = useState(false);
  const { showPassword, hidePassword } = text.common;
  const Icon = isShown ? EyeOff : Eye;
  const label = isShown ? hidePassword : showPassword;
  const reveal = (
    <button type="button" className="copy" aria-label={label} title={label} onClick={() => setShown(!isShown)}>
      <Icon className="i" aria-hidden="true" />
    </button>
  );
  return <Field {...props} type={isShown ? 'text' : 'password'} after={reveal} />;
}

interface SelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string; isOff?: boolean }[];
  onChange: (value: T) => void;
  hint?: ReactNode;
  /** Whether the label is for screen readers only. */
  isLabelHidden?: boolean;
  disabled?: boolean;
  /** The id of what says more about it elsewhere, such as why options are off. */
  describedBy?: string | undefined;
}

/** One of a few, by the system's own list. */
export function Select<T extends string>({ label, value, options, onChange, hint, ...rest }: SelectProps<T>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={rest.isLabelHidden ? 'sr' : undefined}>
        {label}
      </label>
      <div className="input">
        <select
          id={id}
          value={value}
          disabled={rest.disabled}
          aria-describedby={hint ? `${id}-below` : rest.describedBy}
          onChange={({ target }) => onChange(target.value as T)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value} disabled={option.isOff}>
              {option.label}
            </option>
          ))}
        </select>
      </div>
      {hint && (
        <span id={`${id}-below`} className="hint">
          {hint}
        </span>
      )}
    </div>
  );
}

interface CheckProps extends InputHTMLAttributes<HTMLInputElement> {
  label: ReactNode;
  hint?: ReactNode;
}

/** A check box whose label is part of the target. */
export function Check({ label, hint, ...input }: CheckProps) {
  return (
    <label className="opt-row">
      <input type="checkbox" className="check" {...input} />
      <span>
        {label}
        {hint && <small className="cap quiet">{hint}</small>}
      </span>
    </label>
  );
}
