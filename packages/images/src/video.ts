import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { ImageRefused } from './errors.ts';

/** How ffmpeg is told to read a video: it must not find out for itself, since a playlist can name other files and URLs. */
export type VideoFormat = 'mov' | 'matroska';

/** Of MP4 and QuickTime: what cameras, phones and programs write. Playlists and images have others, or none. */
const brands = /^(isom|iso[2-9]|mp4[12]|avc1|M4V[ HP]|qt {2}|3gp\d|3g2\w|MSNV|dash|f4v )$/;

/** The format of a video by its first bytes, whatever it is named. Null: nothing that posters are made of. */
export function sniffVideo(head: Buffer): VideoFormat | null {
  if (head.toString('latin1', 4, 8) === 'ftyp' && brands.test(head.toString('latin1', 8, 12))) return 'mov';
  return head.toString('latin1', 0, 4) === '\x1a\x45\xdf\xa3' ? 'matroska' : null;
}

/** What ffmpeg may use, in bytes of address space, so that it never has more of memory. */
export const posterBytes = 500 * 1024 * 1024;
const posterSeconds = 10;
/** In blocks of 512 bytes. */
const posterFileBlocks = 64 * 2048;
/** The longest side of a poster, and how many pixels a frame may have. */
const posterSide = 2048;
const frameMaxPixels = 40_000_000;

/**
 * Writes a frame of a video as a PNG: that after a second, where there often is more to see than in the first, or else the first.
 * ffmpeg reads this one file and no URL, as this format and no other.
 *
 * @throws ImageRefused
 */
export async function makePoster(ffmpeg: string, format: VideoFormat, file: string, poster: string): Promise<void> {
  for (const second of [1, 0]) {
    if ((await runFfmpeg(ffmpeg, format, second, file, poster)) && isThere(poster)) return;
  }
  throw new ImageRefused('broken', 'ffmpeg finds no frame in it.');
}

async function runFfmpeg(ffmpeg: string, format: VideoFormat, second: number, file: string, poster: string) {
  const input = ['-protocol_whitelist', 'file', '-f', format, '-threads', '1', '-max_pixels', `${frameMaxPixels}`];
  const fit = `scale=iw*sar:ih,scale=w='min(iw,${posterSide})':h='min(ih,${posterSide})':force_original_aspect_ratio=decrease`;
  const output = ['-map', '0:V:0', '-frames:v', '1', '-an', '-sn', '-dn', '-map_metadata', '-1', '-vf', fit];
  const written = ['-filter_threads', '1', '-threads', '1', '-c:v', 'png', '-f', 'image2', '-update', '1', '-y'];
  const args = ['-nostdin', '-hide_banner', '-loglevel', 'error', ...input, '-ss', `${second}`, '-i', `file:${file}`];
  // The shell sets limits and then becomes ffmpeg: memory in KiB, seconds of CPU, and the size of files.
  const limits = `ulimit -v ${posterBytes / 1024} && ulimit -t ${posterSeconds} && ulimit -f ${posterFileBlocks} && exec "$@"`;
  const command = ['-c', limits, 'sh', ffmpeg, ...args, ...output, ...written, `file:${poster}`];
  try {
    await promisify(execFile)('/bin/sh', command, { timeout: posterSeconds * 1000, killSignal: 'SIGKILL' });
    return true;
  } catch {
    // Whatever ffmpeg says is about the video: it is broken, or takes more than it may.
    return false;
  }
}

/** ffmpeg, as an absolute path, if it is installed. */
export function findFfmpeg(): string | null {
  const files = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, 'ffmpeg'));
  return files.find((file) => isThere(file, constants.X_OK)) ?? null;
}

function isThere(file: string, mode = constants.R_OK): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}
