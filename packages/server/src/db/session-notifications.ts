import type pg from 'pg';
import type { Listener, Notifications } from './notifications.ts';

/** Hears NOTIFY in the one session of the embedded database: of itself, when what sent it has committed. */
export interface SessionNotifications {
  /** For a pool of one connection: begins to listen anew when that is replaced. */
  onConnect(client: pg.ClientBase): Promise<void>;
  listen(pool: pg.Pool, channel: string, listener: Listener): Notifications;
}

export function createSessionNotifications(): SessionNotifications {
  const listeners = new Map<string, Listener[]>();
  return {
    async onConnect(client) {
      client.on('notification', ({ channel, payload }) => {
        for (const listener of listeners.get(channel) ?? []) listener.onMessage(payload ?? '');
      });
      for (const [channel, those] of listeners) {
        await client.query(`listen ${channel}`);
        for (const listener of those) listener.onListening();
      }
    },
    listen(pool, channel, listener) {
      listeners.set(channel, [...(listeners.get(channel) ?? []), listener]);
      // Not being able to listen is no failure: whoever listens also asks again from time to time.
      pool.query(`listen ${channel}`).then(
        () => listener.onListening(),
        () => undefined,
      );
      return {
        async close() {
          listeners.set(channel, listeners.get(channel)?.filter((one) => one !== listener) ?? []);
        },
      };
    },
  };
}
