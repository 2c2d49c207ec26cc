import type { ClientRequest } from 'node:http';

/**
 * Has a request fail if it is answered with 101: Node emits no 'response' for an answer that switches protocols, and no
 * 'error'.
 */
export function refuseUpgrade(request: ClientRequest, fail: (error: Error) => void): void {
  request.on('upgrade', (_, socket) => {
    socket.destroy();
    fail(new Error('it answered 101'));
  });
}
