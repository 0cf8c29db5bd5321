/**
 * Checks and copies the folders of a task, none of which may lead outside itself.
 *
 * A tree consists of files, folders, and relative links whose path, link by link, never leaves it. Anything else (an
 * absolute link, a link out of it or into a circle, a pipe, a socket, a device) is rejected by its path. Copies keep
 * links unchanged and share no file with the original.
 */
import { cp, lstat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as Reason from "@atropos/core/base/Reason"
import { Effect, FileSystem, Option, type PlatformError } from "effect"
import { HarborError } from "./HarborError.ts"

type Refused = HarborError | PlatformError.PlatformError

/** Maximum links followed on one path, as in the kernel. */
const maxLinks = 40

/** Status of a path itself, not of what a link leads to: Effect's FileSystem has it since 4.1 only. */
export const status = (path: string) =>
  Effect.tryPromise({
    try: () => lstat(path),
    catch: (cause) => new HarborError({ message: `${path}: ${Reason.of(cause)}`, cause })
  })

const refuse = (path: string, why: string) => Effect.fail(new HarborError({ message: `${path}: ${why}` }))

/** Fails if the path from a folder of the tree (its names below the root) along `target` leaves the tree. */
const follow = Effect.fnUntraced(function* (
  root: string,
  link: string,
  folder: ReadonlyArray<string>,
  target: string
): Effect.fn.Return<void, Refused, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const here = [...folder]
  const ahead = target.split("/")
  const leaves = refuse(
    link,
    `this link points to ${JSON.stringify(target)}, outside of ${root}: copy its target there`
  )
  if (target.startsWith("/")) return yield* leaves
  let links = 1
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === "" || name === ".") continue
    if (name === "..") {
      if (here.pop() === undefined) return yield* leaves
      continue
    }
    const inner = yield* Effect.option(fs.readLink(join(root, ...here, name)))
    if (Option.isNone(inner)) here.push(name)
    else if (inner.value.startsWith("/")) return yield* leaves
    else if (++links > maxLinks) return yield* refuse(link, "too many levels of symbolic links")
    else ahead.unshift(...inner.value.split("/"))
  }
})

/** Checks one entry; true for a folder. */
const isFolder = Effect.fnUntraced(function* (
  root: string,
  names: ReadonlyArray<string>
): Effect.fn.Return<boolean, Refused, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const path = join(root, ...names)
  const found = yield* status(path)
  if (found.isSymbolicLink()) yield* follow(root, path, names.slice(0, -1), yield* fs.readLink(path))
  else if (!found.isFile() && !found.isDirectory()) {
    return yield* refuse(path, "this is neither a file nor a folder")
  }
  return found.isDirectory()
})

const checkBelow = (root: string, folder: ReadonlyArray<string>): Effect.Effect<void, Refused, FileSystem.FileSystem> =>
  FileSystem.FileSystem.use((fs) => fs.readDirectory(join(root, ...folder))).pipe(
    Effect.flatMap(
      Effect.forEach(
        (name) =>
          Effect.flatMap(isFolder(root, [...folder, name]), (isInner) =>
            isInner ? checkBelow(root, [...folder, name]) : Effect.void
          ),
        { discard: true }
      )
    )
  )

const named = (path: string) =>
  Effect.mapError((error: Refused) =>
    error._tag === "HarborError" ? error : new HarborError({ message: `${path}: ${error.message}`, cause: error })
  )

/** Fails unless `root` is itself a folder and everything below stays inside it. */
export const check = (root: string): Effect.Effect<void, HarborError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    // Checked from the parent: the root must not be a link.
    const isItself = yield* isFolder(dirname(root), [basename(root)])
    if (!isItself) return yield* refuse(root, "this must be a folder, not a link or file")
    yield* checkBelow(root, [])
  }).pipe(named(root))

/** Fails unless a file of a folder is a file, or a link to one in that folder. */
export const checkFile = (root: string, name: string): Effect.Effect<void, HarborError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const path = join(root, name)
    yield* isFolder(root, [name])
    const { type } = yield* FileSystem.FileSystem.use((fs) => fs.stat(path))
    if (type !== "File") return yield* refuse(path, "this must be a file")
  }).pipe(named(join(root, name)))

/** Checks a folder and copies it to a path that does not exist yet. */
export const copy = (from: string, to: string): Effect.Effect<void, HarborError, FileSystem.FileSystem> =>
  Effect.andThen(
    check(from),
    Effect.tryPromise({
      try: () => cp(from, to, { recursive: true, verbatimSymlinks: true, errorOnExist: true, force: false }),
      catch: (cause) => new HarborError({ message: `cannot copy ${from}: ${Reason.of(cause)}`, cause })
    })
  )
