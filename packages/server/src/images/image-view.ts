import type { ImageFacts } from '@cadiz/contract';
import { type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';

/** What is answered of an image. */
export type ImageView = z.output<typeof ImageFacts>;

/**
 * What is known of a file as an image, as SQL, whatever type it was given.
 * @param files the table or alias that the columns of the file are read from
 */
export function toKnownSql(files: string): string {
  return `(select view from images where images.project_id = ${files}.project_id and images.file_id = ${files}.id)`;
}

/**
 * What is known of the image that a file is, as SQL; null for any other file, for which nothing is looked up.
 * @param files the table or alias that the columns of the file are read from
 */
export function toImageSql(files: string): string {
  return `case when lower(${files}.mime_type) like any ('{image/%,video/%}') then ${toKnownSql(files)} end`;
}

/** The same, as a column beside those of `files`. */
export const imageOfFile: RawBuilder<ImageView | null> = sql.raw(toImageSql('files'));
