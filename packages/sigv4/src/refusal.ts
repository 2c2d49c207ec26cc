/** Why a request was refused, in S3's terms: the HTTP status, S3's error code and a sentence for the caller. */
export type Refused = {
  ok: false;
  status: number;
  code: string;
  /** what is wrong and how to fix it; never a secret, never the expected signature */
  message: string;
  /** the region to sign for, if the request was signed for another one */
  region?: string;
};

/** A refusal. @param code of S3, such as `AccessDenied` */
export function refuse(status: number, code: string, message: string): Refused {
  return { ok: false, status, code, message };
}

/** The advice for clients that sign the old way, which is how boto3 and some versions of awscli presign by default. */
export const version2Advice =
  "Signature Version 2 is not supported. Sign with AWS4-HMAC-SHA256; in boto3 and awscli, set signature_version to 's3v4'.";
