/** Why a request was not believed, in S3's words: the HTTP status, S3's error code and a sentence for the caller. */
export type Refused = {
  ok: false;
  status: number;
  code: string;
  /** what is wrong and how to mend it; never a secret, never the expected signature */
  message: string;
};

export function refuse(status: number, code: string, message: string): Refused {
  return { ok: false, status, code, message };
}
