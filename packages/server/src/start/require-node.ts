// The first thing that every program of this package loads, and with nothing else: an older Node stops at the first module
// that wants something newer, with a stack. `scripts/prepare.mjs` says the same.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Cadiz needs Node 20.19 or newer, and this is Node ${process.versions.node}.\n`);
  process.exit(1);
}
