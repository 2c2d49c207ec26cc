/** The formats that can be read. */
export const imageFormats = ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff', 'svg'] as const;
export type ImageFormat = (typeof imageFormats)[number];

/** The formats that variants can have. */
export const variantFormats = ['webp', 'avif', 'jpeg', 'png'] as const;
export type VariantFormat = (typeof variantFormats)[number];

/** What is known of an image. */
export interface ImageFacts {
  /** Of a video: of its poster. */
  format: ImageFormat;
  /** In pixels, upright: as it is shown, turned as `orientation` says. */
  width: number;
  height: number;
  /** Of an animation; pages of a TIFF; otherwise 1. */
  frames: number;
  /** EXIF's, 1 to 8. */
  orientation: number;
  hasAlpha: boolean;
  /** `YYYY-MM-DDTHH:mm:ss` as EXIF says, in an unknown time zone. */
  takenAt: string | null;
  /** Whether EXIF or XMP say where the picture was taken. Null for a video: that is not looked for. */
  hasLocation: boolean | null;
  /** A placeholder of about 25 bytes, base64 (https://evanw.github.io/thumbhash/). */
  thumbhash: string | null;
}

/** `cover` fills the box and crops, `contain` fits into the box and pads it, `inside` fits into the box. None enlarges. */
export type ImageFit = 'cover' | 'contain' | 'inside';

export interface RenderOptions {
  /** In pixels. Null: as the other side demands; both null: the size of the image itself. */
  width: number | null;
  height: number | null;
  fit: ImageFit;
  /** What `cover` keeps: the centre, what catches the eye, or the surroundings of a point (0 to 1, from the top left). */
  position: 'center' | 'attention' | { x: number; y: number };
  /** 1 to 100. PNG ignores it. */
  quality: number;
  format: VariantFormat;
}

/** Where the bytes are. */
export interface Source {
  /** A signed URL for GET; ranges are asked for with a header. */
  url: string;
  headers?: Record<string, string>;
  /** In bytes. */
  size: number;
  /** Whose image it is: parties take turns, and the one with the most in a full queue loses its last. All are one unless given. */
  party?: string;
}

/** Where to put a variant. */
export interface Target {
  /** A signed URL for PUT, for exactly the size that was said. */
  url: string;
  headers?: Record<string, string>;
}

export interface Rendered {
  /** In pixels. */
  width: number;
  height: number;
  /** In bytes. */
  size: number;
  contentType: string;
  /** Without quotes. */
  etag: string | null;
}
