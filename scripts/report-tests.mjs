// @ts-check
// A Vitest reporter: lists what took longest, which files failed, and which rows of docs/security.md this run did not prove.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './prepare.mjs';
import { findUnproven } from './security-document.mjs';

const slowest = 10;

export default class TestReport {
  /** @param {import('vitest/node').Vitest} vitest */
  onInit(vitest) {
    this.vitest = vitest;
  }

  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly import('vitest').SerializedError[]} errors that no test has caught
   */
  onTestRunEnd(modules, errors) {
    if (modules.length > 5) this.#printSlowest(modules);
    this.#writeFailed(modules, errors);
    this.#checkRows(modules);
  }

  /** @param {readonly import('vitest/node').TestModule[]} modules */
  #printSlowest(modules) {
    const files = modules.map((module) => {
      const { prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
      const milliseconds = prepareDuration + collectDuration + setupDuration + duration;
      return { file: relative(root, module.moduleId), seconds: milliseconds / 1000 };
    });
    const sum = files.reduce((all, { seconds }) => all + seconds, 0);
    console.log(`\n${files.length} test files took ${sum.toFixed(0)} s one after another. The longest:`);
    for (const { file, seconds } of files.sort((a, b) => b.seconds - a.seconds).slice(0, slowest))
      console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
  }

  /**
   * Writes which files failed into the file that scripts/test.mjs has named, a line each.
   *
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly import('vitest').SerializedError[]} errors
   */
  #writeFailed(modules, errors) {
    const failed = modules.filter((module) => !module.ok()).map(({ moduleId }) => moduleId);
    const thrownIn = errors.map(({ VITEST_TEST_PATH: file }) => file).filter((file) => typeof file === 'string');
    const files = [...new Set([...failed, ...thrownIn])].map((file) => `${relative(root, file)}\n`);
    if (process.env.TEST_FAILED_FILES) writeFileSync(process.env.TEST_FAILED_FILES, files.join(''));
  }

  /** @param {readonly import('vitest/node').TestModule[]} modules */
  #checkRows(modules) {
    const asked = this.vitest?.config.testNamePattern;
    // After a failure, the rest was skipped because of it.
    const whole = modules.filter((module) => module.ok());
    const skipped = whole.flatMap((module) =>
      [...module.children.allTests('skipped')]
        .map(({ fullName: name }) => ({ name, file: relative(root, module.moduleId) }))
        // Tests that were not selected do not matter.
        .filter(({ name }) => !asked || asked.test(name.replaceAll(' > ', ' '))),
    );
    const { leftOut, wrong } = findUnproven(skipped);
    for (const line of leftOut) console.log(`Left out: ${line}`);
    for (const line of wrong) console.error(`FAILED: ${line}`);
    if (wrong.length > 0) process.exitCode = 1;
  }
}
