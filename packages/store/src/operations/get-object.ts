import { pipeline } from 'node:stream/promises';
import { openContent } from '../disk/object-content.ts';
import type { Call } from '../protocol/call.ts';
import { toObjectAnswer } from '../protocol/object-answer.ts';
import { requireObject } from './head-object.ts';

/** GET /bucket/key: the bytes, or one range of them. */
export async function getObject(call: Call): Promise<void> {
  const { found: answer, content } = await openContent(call.store, call, () => {
    const record = requireObject(call);
    const answer = toObjectAnswer(call, record);
    return { record, range: answer, found: answer };
  });
  try {
    call.response.writeHead(answer.status, answer.headers);
    if (answer.last < answer.first) call.response.end();
    else if (content.bytes) call.response.end(content.bytes);
    else await pipeline(content.stream(), call.response);
  } finally {
    await content.close();
  }
}
