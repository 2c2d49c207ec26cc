import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface Received {
  from: string;
  to: string[];
  /** Including all headers, decoded. */
  text: string;
}

/** A mail server on loopback, and the messages it received. */
export interface Mailbox {
  /** The settings that make a service send its mail here. */
  settings: Record<string, string>;
  port: number;
  received: Received[];
  /** Whether it refuses every message. */
  refuses: boolean;
  /** The tokens sent to one address, in links to one page, the latest last. */
  tokensFor(email: string, page: 'reset-password' | 'verify-email'): string[];
  stop(): Promise<void>;
}

export async function startMailbox(): Promise<Mailbox> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, callback) => callback(mailbox.refuses ? new Error('mailbox unavailable') : null),
    onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        mailbox.received.push({ from, to, text: decode(Buffer.concat(chunks).toString()) });
        callback();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  const mailbox: Mailbox = {
    settings: { SMTP_URL: `smtp://127.0.0.1:${port}`, SMTP_FROM: 'Cadiz <media@example.com>' },
    port,
    received: [],
    refuses: false,
    tokensFor(email, page) {
      const link = new RegExp(`/${page}#([\\w-]{43})\\s`);
      return mailbox.received.filter(({ to }) => to.includes(email)).flatMap(({ text }) => link.exec(text)?.[1] ?? []);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
  return mailbox;
}

/** Decodes quoted-printable, which nodemailer uses for anything that is not ASCII. */
function decode(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
