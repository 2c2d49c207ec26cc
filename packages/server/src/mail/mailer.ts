import { createTransport } from 'nodemailer';
import pLimit from 'p-limit';
import type { Logger } from 'pino';

export interface MailSettings {
  /** Such as `smtps://user:password@mail.example.com`. */
  url: string;
  from: string;
}

export interface Message {
  to: string;
  subject: string;
  text: string;
}

/** Sends e-mail in the background, so that neither the answer to a request nor its timing reveals whether anything was sent. */
export interface Mailer {
  /** Prepares and sends a message later. Failures are logged, without the message. */
  post(prepare: () => Promise<Message | undefined>): void;
  /** Resolves when every message has been sent or has failed. */
  idle(): Promise<void>;
}

const atOnce = 2;
const mostWaiting = 1000;
/** A mail server that hangs must not delay the stop of the service for minutes. */
const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };

/** A mailer for an `smtp://` or `smtps://` URL. Nothing is connected before the first message. */
export function createMailer({ url, from }: MailSettings, log: Logger): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const isSecure = protocol === 'smtps:';
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port ? Number(port) : isSecure ? 465 : 587,
    secure: isSecure,
    // A password is never sent in plain text, whatever the server offers.
    requireTLS: !isSecure && password !== '',
    ...(username ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } } : {}),
    ...timeouts,
  });
  const sending = pLimit(atOnce);
  const underWay = new Set<Promise<void>>();

  async function send(prepare: () => Promise<Message | undefined>): Promise<void> {
    try {
      const message = await prepare();
      // The address as an object: in a string, commas and brackets could add other recipients.
      if (message) await transport.sendMail({ ...message, from, to: { name: '', address: message.to } });
    } catch (error) {
      log.error({ error }, 'Could not send an e-mail');
    }
  }

  return {
    post(prepare) {
      if (underWay.size >= mostWaiting) {
        log.error('Did not send an e-mail: too many are waiting already');
        return;
      }
      const sent = sending(() => send(prepare)).finally(() => underWay.delete(sent));
      underWay.add(sent);
    },
    idle: async () => void (await Promise.all(underWay)),
  };
}
