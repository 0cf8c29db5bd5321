/**
 * Reports immediately that Node is too old. The first import of each package: otherwise an old Node would only report
 * the first missing feature.
 *
 * No module of the packages may import by name what Node 20 does not export: names are resolved before any code here
 * can run.
 */
/** Required by Effect's HTTP client. */
export const needed = "22.19"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(
    `Atropos needs Node ${needed} or newer and runs under ${process.version}: install Node 24, or let the project bring its own (npm install node@24)`
  )
}
