import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { readDuration, readSize, readWhole, toMinute } from '../format.ts';
import { findFolder, readRemotePath } from '../paths.ts';

export const run: Run<'ticket'> = async (context, { args: [path], options }) => {
  const { files = '1', bytes = '100MB', 'file-bytes': fileBytes, type, origin, expires } = options;
  const budget = {
    maxFiles: readWhole('files', files, 1, 10_000),
    maxBytes: readSize('bytes', bytes),
    ...(fileBytes !== undefined && { maxFileSize: readSize('file-bytes', fileBytes) }),
    ...(type.length > 0 && { mimeTypes: type }),
    ...(origin.length > 0 && { origins: origin }),
    ...(expires !== undefined && { expiresIn: readDuration('expires', expires) }),
  };
  const client = await connect(context);
  const folder = path === undefined ? undefined : await findFolder(client, readRemotePath(path));
  const ticket = await client.tickets.create({ ...budget, ...(folder?.id && { folderId: folder.id }) });
  context.output.print(ticket, ticket.ticket);
  context.output.say(`Works until ${toMinute(ticket.expiresAt)} UTC. cadiz tickets revoke ${ticket.id} ends it.`);
};
