import { examineStore } from '@cadiz/server/doctor';
import type { Run } from '../command.ts';
import { usageFailure } from '../failure.ts';

export const run: Run<'doctor'> = async ({ output, yes }, { options: { fix, origin } }) => {
  return examineStore({ fix, yes, json: output.isJson, origin: origin.map(toOrigin) });
};

function toOrigin(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text).origin;
  throw usageFailure(`--origin ${text} must be a URL that starts with http:// or https://.`);
}
