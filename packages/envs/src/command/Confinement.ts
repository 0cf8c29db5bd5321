/**
 * Confines a program by Linux namespaces (bubblewrap): it sees the system's programs, its own folders that its
 * words name, and the paths from the settings, all read-only; it writes only to its working directory and a private
 * /tmp. It has its own processes and only the variables it is started with. The network is this machine's, since the
 * gateway is there: a program can reach other machines.
 */
import { homedir } from "node:os"
import { existsSync, realpathSync } from "node:fs"
import { dirname, isAbsolute } from "node:path"
import * as Executable from "@atropos/core/base/system/Executable"
import * as Jail from "../sandbox/Jail.ts"

export interface Options {
  readonly words: ReadonlyArray<string>
  /** `PATH` by which the program is found. */
  readonly path: string
  /** Writable folders; the first is its working directory and home. */
  readonly writable: readonly [string, ...ReadonlyArray<string>]
  /** Readable folders and files in addition to its own. */
  readonly visible: ReadonlyArray<string>
}

/** Files needed to resolve names and check certificates, in addition to the system's programs. */
export const network: ReadonlyArray<string> = [
  "/etc/ssl",
  "/etc/ca-certificates",
  "/etc/pki",
  "/etc/resolv.conf",
  "/etc/hosts",
  "/etc/nsswitch.conf",
  "/etc/passwd",
  "/etc/group",
  "/etc/localtime"
]

/** Finds a program by `PATH`; undefined if not found. */
export const pathOf = (program: string, path: string): string | undefined =>
  program.includes("/") ? (existsSync(program) ? program : undefined) : Executable.find(program, path)

/** The tree of a program's file: the parent of its `bin`, or only its folder if that parent is a home. */
const treeOf = (file: string): string => {
  const tree = dirname(dirname(file))
  return tree === "/" || tree === homedir() ? dirname(file) : tree
}

/** The trees of the program, by its name and by its real path, and the folders of files that its words name. */
const ownFolders = ([program = "", ...others]: ReadonlyArray<string>, path: string): ReadonlyArray<string> => {
  const file = pathOf(program, path)
  const trees = file === undefined ? [] : [treeOf(file), treeOf(realpathSync(file))]
  return [...trees, ...others.filter((word) => isAbsolute(word) && existsSync(word)).map(dirname)]
}

export const words = ({ path, visible, words: own, writable }: Options): ReadonlyArray<string> => {
  const folders = [...Jail.system, ...network, ...ownFolders(own, path), ...visible]
  return [
    Jail.bubblewrap(),
    ...Jail.namespaces.split(" "),
    "--share-net",
    ..."--proc /proc --dev /dev --tmpfs /tmp".split(" "),
    // After /tmp, which would otherwise hide paths inside it.
    ...[...new Set(folders)].flatMap((folder) => ["--ro-bind-try", folder, folder]),
    ...writable.flatMap((folder) => ["--bind", folder, folder]),
    "--chdir",
    writable[0],
    "--",
    ...own
  ]
}
