// @ts-check
// Whatever a benchmark starts or creates is registered here, and undone on every way out, latest first.

/** @type {(() => unknown)[]} */
const tasks = [];
const longestTaskMilliseconds = 30_000;

/** @param {() => unknown} task stops a process that was started, or removes a folder that was made */
export function atEnd(task) {
  tasks.push(task);
}

/** @param {() => Promise<void>} main the benchmark; its failure becomes exit code 1 */
export async function bench(main) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.on(signal, async () => {
      await cleanUp();
      process.exit(1);
    });
  }
  try {
    await main();
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
  await cleanUp();
  process.exit();
}

async function cleanUp() {
  for (let task = tasks.pop(); task; task = tasks.pop()) {
    try {
      // If one hangs, the others must still be undone.
      await Promise.race([task(), new Promise((resolve) => setTimeout(resolve, longestTaskMilliseconds).unref())]);
    } catch (error) {
      console.error(error);
      process.exitCode = 1;
    }
  }
}
