/**
 * Makes the published packages from the output of `npm run build`: a folder for each in `.packages/`, with its tarball
 * next to it. `npm run pack`, then `npm publish .packages/NAME` for each, the platforms first.
 *
 * Each package gets the licence, core the documentation. ONNX Runtime is split into one package per platform, from the
 * files of `onnxruntime-node` without its install script, which downloads CUDA from a host that many machines cannot
 * reach, and fails there.
 */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

interface Manifest {
  name: string
  version: string
  [key: string]: unknown
}

const root = fileURLToPath(new URL("..", import.meta.url))
const out = join(root, ".packages")
const runtime = join(root, "node_modules/onnxruntime-node")

const read = (file: string): Manifest => JSON.parse(readFileSync(file, "utf8"))
const writeManifest = (folder: string, manifest: Manifest) =>
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)

/** Removes the condition for the sources of a checkout. */
const published = (conditions: unknown): unknown =>
  typeof conditions !== "object" || conditions === null
    ? conditions
    : Object.fromEntries(
        Object.entries(conditions).flatMap(([key, to]) => (key === "atropos-src" ? [] : [[key, published(to)]]))
      )

const stage = (name: string): string => {
  const folder = join(out, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return folder
}

/** One package for each platform that ONNX Runtime has a binding for. */
const platforms = (): ReadonlyArray<Manifest> => {
  const { dependencies, license, version } = read(join(runtime, "package.json"))
  const bindings = join(runtime, "bin/napi-v6")
  return readdirSync(bindings).flatMap((os) =>
    readdirSync(join(bindings, os)).map((cpu): Manifest => {
      const name = `onnxruntime-${os}-${cpu}`
      const folder = stage(name)
      const binding = join("bin/napi-v6", os, cpu)
      cpSync(join(runtime, "dist"), join(folder, "dist"), { recursive: true, filter: (file) => !file.endsWith(".map") })
      // Files fetched for CUDA must not be redistributed, and are too large.
      cpSync(join(runtime, binding), join(folder, binding), {
        recursive: true,
        filter: (file) => !basename(file).includes("_providers_")
      })
      cpSync(join(runtime, "README.md"), join(folder, "README.onnxruntime.md"))
      // The package itself ships neither; these are those of its Python counterpart.
      cpSync(join(root, "scripts/onnxruntime"), folder, { recursive: true })
      writeFileSync(
        join(folder, "README.md"),
        `# @atropos/${name}\n\nThe files of \`onnxruntime-node\` ${version} for ${os} on ${cpu}, unchanged, without those of\nother platforms and without its install script. @atropos/trainer loads it. Copyright Microsoft Corporation; MIT licence.\n`
      )
      const manifest: Manifest = {
        name: `@atropos/${name}`,
        version,
        description: `ONNX Runtime for ${os} on ${cpu}: the files of onnxruntime-node, without an install script`,
        keywords: ["onnxruntime", "onnx", os, cpu],
        license,
        os: [os],
        cpu: [cpu],
        engines: { node: ">=20" },
        main: "dist/index.js",
        types: "dist/index.d.ts",
        // adm-zip and global-agent are only for the install script.
        dependencies: { "onnxruntime-common": (dependencies as Record<string, string>)["onnxruntime-common"] }
      }
      writeManifest(folder, manifest)
      return manifest
    })
  )
}

const ours = (name: string, optional: Record<string, string>): void => {
  const source = join(root, "packages", name)
  const { devDependencies: _, ...manifest } = read(join(source, "package.json"))
  const folder = stage(name)
  for (const part of manifest["files"] as ReadonlyArray<string>) {
    if (!existsSync(join(source, part))) throw new Error(`packages/${name}/${part} is not there: npm run build first`)
    cpSync(join(source, part), join(folder, part), {
      recursive: true,
      filter: (file) => !file.endsWith(".tsbuildinfo") && !file.endsWith("__pycache__")
    })
  }
  cpSync(join(source, "README.md"), join(folder, "README.md"))
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
  if (name === "core") {
    // In the package the documentation has another path than in a checkout.
    const readme = join(folder, "README.md")
    writeFileSync(readme, readFileSync(readme, "utf8").replaceAll("](../../docs/", "](docs/"))
    cpSync(join(root, "docs"), join(folder, "docs"), { recursive: true, filter: (file) => !file.endsWith("/images") })
    ;(manifest["files"] as Array<string>).push("docs")
  }
  writeManifest(folder, {
    ...manifest,
    ...(manifest["imports"] !== undefined && { imports: published(manifest["imports"]) }),
    ...(manifest["exports"] !== undefined && { exports: published(manifest["exports"]) }),
    ...(name === "trainer" && { optionalDependencies: optional })
  })
}

mkdirSync(out, { recursive: true })
const made = platforms()
const optional = Object.fromEntries(made.map(({ name, version }) => [name, version]))
const names = ["core", "api", "envs", "trainer", "cli"]
for (const name of names) ours(name, optional)

// Next to the current Node, or the system's.
const npm = [join(dirname(process.execPath), "npm"), "npm"].find((one) => one === "npm" || existsSync(one))!
const folders = [...made.map(({ name }) => name.slice("@atropos/".length)), ...names]
for (const folder of folders) {
  const said = execFileSync(npm, ["pack", "--silent", "--pack-destination", out, join(out, folder)], {
    encoding: "utf8"
  })
  console.log(join(".packages", said.trim()))
}
