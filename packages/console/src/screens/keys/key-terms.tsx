import type { Scope } from '@cadiz/client';
import { now } from '../../clock.ts';
import { Check } from '../../components/field.tsx';
import { text } from '../../text/text.ts';

/** What whoever creates a key decides about it. */

const scopes: readonly Scope[] = ['files:read', 'files:write', 'files:delete'];

/** What a key may do unless somebody decides otherwise. */
export const usualScopes: readonly Scope[] = ['files:read', 'files:write'];

const days = { month: 30, quarter: 90, year: 365 } as const;
export const lifetimes = ['month', 'quarter', 'year', 'never', 'own'] as const;
export type Lifetime = (typeof lifetimes)[number];

const dayMilliseconds = 86_400_000;

/** A day of this time zone as date fields have it. */
export const toDay = (at: Date) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);

/** @param day the last day, for a date of one's own: the key expires with its end here */
export function expiryOf(lifetime: Lifetime, day: string): string | null {
  if (lifetime === 'never') return null;
  if (lifetime === 'own') return new Date(`${day}T23:59:59`).toISOString();
  return new Date(now() + days[lifetime] * dayMilliseconds).toISOString();
}

interface ScopeChecksProps {
  chosen: readonly Scope[];
  onChange: (chosen: readonly Scope[]) => void;
}

/** What a key may do; at least one thing. */
export function ScopeChecks({ chosen, onChange }: ScopeChecksProps) {
  const { keys } = text;
  return (
    <fieldset className="stack g2">
      <legend className="label">{keys.may}</legend>
      {scopes.map((scope) => (
        <Check
          key={scope}
          checked={chosen.includes(scope)}
          onChange={({ target }) =>
            onChange(scopes.filter((one) => (one === scope ? target.checked : chosen.includes(one))))
          }
          label={keys.scopes[scope]}
        />
      ))}
      {chosen.length === 0 && (
        <span className="hint bad" role="alert">
          {keys.mayNothing}
        </span>
      )}
    </fieldset>
  );
}
