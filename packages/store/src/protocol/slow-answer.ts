import { type Call, sendXml } from './call.ts';
import { xmlDeclaration } from './xml.ts';

/**
 * Answers with the document that `work` makes, however long that takes. After `keepWaitingMilliseconds` the answer
 * starts with 200, and a space before the document every so often keeps clients and proxies from giving up. A failure
 * after that is reported by sending an `Error` document ("CopyObject" and "CompleteMultipartUpload" in the Amazon S3
 * API reference).
 *
 * @throws what `work` throws, if nothing has been sent yet
 */
export async function sendXmlWhenDone(call: Call, work: () => Promise<string>): Promise<void> {
  const { request, response, store } = call;
  // No byte moves on the connection in the meantime.
  request.socket.setTimeout(0);
  const waiting = setInterval(() => {
    if (response.headersSent) response.write(' ');
    else response.writeHead(200, { 'content-type': 'application/xml' }).write(xmlDeclaration);
  }, store.keepWaitingMilliseconds);
  try {
    const xml = await work();
    if (response.headersSent) response.end(withoutDeclaration(xml));
    else sendXml(call, xml);
  } catch (error) {
    if (!response.headersSent) throw error;
    response.end(withoutDeclaration(call.toErrorDocument(error)));
  } finally {
    clearInterval(waiting);
  }
}

function withoutDeclaration(xml: string): string {
  return xml.slice(xmlDeclaration.length);
}
