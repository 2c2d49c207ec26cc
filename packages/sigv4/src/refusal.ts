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

/** What a client is told that signs in the old way, which boto3 and some versions of awscli presign in unless told otherwise. */
export const version2Advice =
  "Signature Version 2 is not supported. Sign with AWS4-HMAC-SHA256; in boto3 and awscli, set signature_version to 's3v4'.";
