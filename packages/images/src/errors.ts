export type RefusalReason = 'unsupported' | 'too_large' | 'broken';
export type FailureReason = 'timeout' | 'crashed' | 'busy' | 'unreachable';

/** Why an image is not made, for good: the same bytes are refused each time. */
export class ImageRefused extends Error {
  override readonly name = 'ImageRefused';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Why an image was not made this time; it may be tried again. */
export class ImageFailed extends Error {
  override readonly name = 'ImageFailed';
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
