/**
 * Serves the packages of `npm run pack` as npm's registry would after publication: `npx @atropos/cli` and `npm install
 * @atropos/core` find them by name. Serves only the scope `@atropos`, which an npmrc line sends here.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"

interface Manifest {
  readonly name: string
  readonly version: string
}

export interface PackedRegistry {
  /** A line of an npmrc. */
  readonly setting: string
  readonly close: () => void
}

/** `packed` contains, for each package, its folder and its archive. */
export const serve = async (packed: string): Promise<PackedRegistry> => {
  const manifests = readdirSync(packed, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }): Manifest => JSON.parse(readFileSync(join(packed, name, "package.json"), "utf8")))
  if (manifests.length === 0) throw new Error("no packages: npm run pack first")
  const archives = new Map(
    manifests.map(({ name, version }) => [
      name,
      readFileSync(join(packed, `${name.slice(1).replace("/", "-")}-${version}.tgz`))
    ])
  )
  let origin = ""
  const documents = new Map(
    manifests.map((manifest) => {
      const { name, version } = manifest
      const integrity = `sha512-${createHash("sha512").update(archives.get(name)!).digest("base64")}`
      return [
        name,
        () => ({
          name,
          "dist-tags": { latest: version },
          versions: { [version]: { ...manifest, dist: { tarball: `${origin}/archives/${name}`, integrity } } }
        })
      ]
    })
  )
  const server = createServer(({ url = "" }, response) => {
    const path = decodeURIComponent(url.slice(1))
    const archive = path.startsWith("archives/") ? archives.get(path.slice("archives/".length)) : undefined
    const document = documents.get(path)
    // Another run has another port, and different packages of the same version.
    response.setHeader("cache-control", "no-store")
    if (archive !== undefined) response.end(archive)
    else if (document !== undefined) response.end(JSON.stringify(document()))
    else response.writeHead(404).end("{}")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // A server that listens on an address has one, not a file name.
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    setting: `@atropos:registry=${origin}/`,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
