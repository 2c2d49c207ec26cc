import { expect, test } from 'vitest';
import { toServed } from './served-type.ts';

test.each([
  ['image/png', 'image/png'],
  ['IMAGE/PNG', 'image/png'],
  ['image/jpeg', 'image/jpeg'],
  ['video/mp4', 'video/mp4'],
  ['video/webm;codecs=vp8', 'video/webm; codecs=vp8'],
  ['audio/mpeg', 'audio/mpeg'],
  ['text/plain', 'text/plain; charset=utf-8'],
  ['text/plain; charset=iso-8859-1', 'text/plain; charset=iso-8859-1'],
  ['image/png; a="x, text/html"', 'image/png'],
  ['text/plain;charset="utf-8"', 'text/plain; charset=utf-8'],
  ['text/plain; Charset="iso-8859-1"', 'text/plain; Charset=iso-8859-1'],
  ['text/plain; format=flowed', 'text/plain; format=flowed; charset=utf-8'],
  ['text/plain; charset="a, text/html"', 'text/plain'],
])('%s is displayed as %s', (mimeType, contentType) => {
  expect(toServed(mimeType, 'inline')).toEqual({ contentType, disposition: 'inline' });
  expect(toServed(mimeType, 'attachment')).toEqual({ contentType, disposition: 'attachment' });
});

test.each([
  ['image/svg+xml', 'image/svg+xml'],
  ['Image/SVG+XML; charset=utf-8', 'image/svg+xml; charset=utf-8'],
  ['application/pdf', 'application/pdf'],
  ['application/zip', 'application/zip'],
  ['application/json', 'application/json'],
  ['text/csv', 'text/csv'],
  ['font/woff2', 'font/woff2'],
  ['model/gltf-binary', 'model/gltf-binary'],
  ['application/octet-stream', 'application/octet-stream'],
])('%s is never displayed, and is saved as %s (checklist 42, T15)', (mimeType, contentType) => {
  expect(toServed(mimeType, 'inline')).toEqual({ contentType, disposition: 'attachment' });
});

test.each([
  'text/html',
  'Text/HTML',
  'text/html;charset=utf-7',
  'application/xhtml+xml',
  'application/vnd.wap.xhtml+xml',
  'text/xml',
  'application/xml',
  'application/rss+xml',
  'application/mathml+xml',
  'text/xsl',
  'text/javascript',
  'application/javascript',
  'application/x-ecmascript',
  'text/vbscript',
  'text/css',
  'text/x-anything',
  'multipart/x-mixed-replace; boundary=x',
  'multipart/related',
  'message/rfc822',
  'application/x-mimearchive',
  'application/x-shockwave-flash',
  'application/signed-exchange;v=b3',
])('%s is never displayed, and is served without its type (checklist 42, T15)', (mimeType) => {
  const served = { contentType: 'application/octet-stream', disposition: 'attachment' };
  expect(toServed(mimeType, 'inline')).toEqual(served);
  expect(toServed(mimeType, 'attachment')).toEqual(served);
});
