import type { ByteReader } from './byte-reader.ts';
import { S3Error } from './s3-error.ts';

/** The start of a form (RFC 7578), up to the bytes of its file. */
export interface Form {
  /** Values by lower-case name, as Latin-1 characters: one for each byte, as Node represents headers. */
  fields: ReadonlyMap<string, string>;
  /** The name of the file, without any folders before it. */
  fileName: string;
  /** The bytes of the file. Whatever follows it in the form is ignored, as on S3. */
  file(): AsyncGenerator<Buffer, void, undefined>;
}

/** S3's own limit for everything before the file. */
const maxFieldsBytes = 20 * 1024;
const maxEpilogueBytes = 20 * 1024;
const fileField = 'file';

/** The boundary named by a form's Content-Type. @throws S3Error MalformedPOSTRequest */
export function readBoundary(contentType: string): string {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary !== undefined) return boundary;
  throw malformed('its Content-Type must name a boundary of 1 to 70 characters');
}

/**
 * Reads the fields of a form, in constant memory, until its file starts.
 *
 * @throws S3Error MalformedPOSTRequest, MaxPostPreDataLengthExceeded, InvalidArgument, IncompleteBody
 */
export async function readForm(reader: ByteReader, boundary: string): Promise<Form> {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const fields = new Map<string, string>();
  let left = maxFieldsBytes;
  const spend = (bytes: number) => {
    left -= bytes;
    if (left < 0) throw tooLong();
  };
  const nextLine = async () => {
    const line = await reader.line(left);
    if (line === undefined) throw tooLong();
    spend(line.length + 2);
    return line;
  };

  let opening = await nextLine();
  while (opening === '') opening = await nextLine();
  if (opening.trimEnd() !== `--${boundary}`) throw malformed('it must begin with its boundary');
  for (;;) {
    let disposition = '';
    for (let line = await nextLine(); line !== ''; line = await nextLine()) {
      if (/^content-disposition:/i.test(line)) disposition = line;
    }
    const name = readParameter(disposition, 'name')?.toLowerCase();
    if (name === undefined) throw malformed('each part must have a name');
    if (name === fileField) {
      const fileName = (readParameter(disposition, 'filename') ?? '').replace(/^.*[/\\]/s, '');
      return { fields, fileName, file: () => readFile(reader, delimiter) };
    }
    if (fields.has(name)) throw new S3Error('InvalidArgument', `The form has the field ${name} twice.`);
    let value = '';
    for await (const piece of reader.until(delimiter)) {
      spend(piece.length);
      value += piece.toString('latin1');
    }
    spend(delimiter.length);
    fields.set(name, value);
    if ((await requireBoundaryEnd(reader)) === 'last') {
      throw new S3Error('InvalidArgument', 'The form has no file: its last field must be named "file".');
    }
  }
}

async function* readFile(reader: ByteReader, delimiter: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield* reader.until(delimiter);
  await requireBoundaryEnd(reader);
  let left = maxEpilogueBytes;
  while (!(await reader.isAtEnd())) {
    left -= (await reader.some(maxEpilogueBytes)).length;
    if (left < 0) throw malformed('too much follows its file');
  }
}

/** What follows a boundary: CRLF before another part, or `--` at the end. */
async function requireBoundaryEnd(reader: ByteReader): Promise<'another' | 'last'> {
  let end = '';
  while (end.length < 2) end += (await reader.some(2 - end.length)).toString('latin1');
  if (end === '\r\n') return 'another';
  if (end === '--') return 'last';
  throw malformed('a boundary must be on a line of its own');
}

/** A parameter of Content-Disposition, escaped the way browsers (HTML, "multipart form data") and curl do it. */
function readParameter(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"((?:\\\\"|[^"])*)"|([^\\s;"]+))`, 'i').exec(header) ?? [];
  if (quoted === undefined) return plain;
  return quoted.replaceAll('\\"', '"').replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n');
}

function malformed(what: string): S3Error {
  return new S3Error('MalformedPOSTRequest', `The form is malformed: ${what}.`);
}

function tooLong(): S3Error {
  const message = `Everything before the file in a form may have at most ${maxFieldsBytes} bytes.`;
  return new S3Error('MaxPostPreDataLengthExceeded', message);
}
