export type Log = (line: { level: 'info' | 'warn' | 'error'; message: string; [field: string]: unknown }) => void;
