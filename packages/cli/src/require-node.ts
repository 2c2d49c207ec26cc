// An older Node fails at the first module that needs something newer, with a stack trace.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (!(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19))) {
  process.stderr.write(
    `Cadiz needs Node 20.19 or newer (not 21, nor 22 before 22.12), and this is Node ${process.versions.node}.\n`,
  );
  process.exit(1);
}
