import { endOnSignal } from './early-signals.ts';

// The program takes a while to load. Until then, a signal would end the process without a word, or not at all where it is the first
// process of a container.
endOnSignal();
try {
  await import('./program.ts');
} catch (error) {
  // Node opens the files of all modules at once, and then says of some that they are missing.
  const mostFiles = findMostOpenFiles();
  if (!(mostFiles < 1024)) throw error;
  process.stderr.write(
    `Cadiz could not be loaded: this process may have only ${mostFiles} files open at once. Allow it 1024 or more (ulimit -n, or LimitNOFILE= for systemd).\n`,
  );
  process.exit(1);
}

/** NaN where there is no such limit. */
function findMostOpenFiles(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { hard: number | string } } };
  return Number(userLimits?.open_files?.hard);
}
