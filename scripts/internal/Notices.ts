/**
 * A plugin for Vite and Rolldown that collects the licence notices of all packages in a bundle, with the texts that the
 * packages ship.
 *
 * A package without a licence text fails the build, so that nothing is published under unread terms.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

interface Chunk {
  readonly type: "chunk" | "asset"
  readonly modules?: { readonly [id: string]: { readonly renderedLength: number } }
}

interface Notice {
  readonly name: string
  readonly version: string
  readonly licence: string
  readonly text: string
}

const isText = (file: string): boolean =>
  /^(licen[cs]e|copying|notice|ofl)/i.test(file) && !/\.(js|ts|json)$/i.test(file)

/** The folder and manifest of the package that a file belongs to; undefined for our own. */
const packageOf = (file: string) => {
  if (!file.includes("/node_modules/")) return undefined
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, "package.json")
    if (!existsSync(manifest)) continue
    const { license, name, version } = JSON.parse(readFileSync(manifest, "utf8"))
    // Some packages contain folders with a package.json that only sets the module type.
    if (typeof name === "string" && typeof version === "string") return { folder, license, name, version }
  }
  throw new Error(`${file} belongs to no package`)
}

/** The comment at the start of a source file. */
const header = (file: string): string => {
  const lines = readFileSync(file, "utf8").split("\n")
  const end = lines.findIndex((line) => !line.startsWith("//"))
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join("\n")
}

/** Sources of the texts of packages that ship no licence. */
const elsewhere: { readonly [name: string]: (folder: string) => ReadonlyArray<string> } = {
  // Its files begin with the copyright, some with Google's licence; the other one is Apache's, which other packages
  // ship.
  "@bufbuild/protobuf": (folder) => [
    header(join(folder, "dist/esm/wire/binary-encoding.js")),
    readFileSync(join(folder, "../../@huggingface/tokenizers/LICENSE"), "utf8").trim(),
    header(join(folder, "dist/esm/wire/varint.js"))
  ],
  wouter: () => ["Released into the public domain by the Unlicense (https://unlicense.org), which asks for no notice."]
}

const noticeOf = ({ folder, license, name, version }: NonNullable<ReturnType<typeof packageOf>>): Notice => {
  const files = readdirSync(folder).filter(isText).toSorted()
  const texts = elsewhere[name]?.(folder) ?? files.map((file) => readFileSync(join(folder, file), "utf8").trim())
  if (texts.length === 0) throw new Error(`${name} ${version} (${license}) is bundled and ships no licence text`)
  const text = texts.join("\n\n")
  return { name, version, licence: String(license), text }
}

/** Notices of the packages that these files come from, sorted by name. */
export const collect = (files: Iterable<string>): ReadonlyArray<Notice> => {
  const found = new Map<string, Notice>()
  for (const file of files) {
    const from = packageOf(resolve(file.replace(/^\0/, "").replace(/\?.*$/, "")))
    if (from !== undefined && !found.has(from.folder)) found.set(from.folder, noticeOf(from))
  }
  return [...found.values()].toSorted((a, b) => a.name.localeCompare(b.name))
}

export const print = (what: string, notices: ReadonlyArray<Notice>): string =>
  [
    `${what} contains code of these packages, under the licences below.`,
    ...notices.map(
      ({ licence, name, text, version }) => `${"=".repeat(72)}\n${name} ${version} (${licence})\n\n${text}`
    ),
    ""
  ].join("\n\n")

/** Files whose code or style is in the bundle. */
export const filesIn = (bundle: { readonly [name: string]: Chunk }): ReadonlyArray<string> =>
  Object.values(bundle).flatMap(({ modules = {} }) =>
    Object.entries(modules).flatMap(([id, { renderedLength }]) =>
      // A style sheet is an asset: nothing of its module remains in the chunk.
      renderedLength > 0 || id.replace(/\?.*$/, "").endsWith(".css") ? [id] : []
    )
  )
