/**
 * Says at once that Node is too old. It is the first import of each package: without it, whatever an old Node happens
 * to miss first would be all that is told.
 *
 * No module of the packages may import by name what Node 20 does not export: names are looked up before anything here
 * can run.
 */
/** Effect's HTTP client asks for no less. */
export const needed = "22.19"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(
    `Atropos needs Node ${needed} or newer and runs under ${process.version}: install Node 24, or let the project bring its own (npm install node@24)`
  )
}
