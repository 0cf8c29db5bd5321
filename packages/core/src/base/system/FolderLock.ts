/**
 * Locks a folder for one process; the operating system releases the lock when its holder dies, for any reason.
 *
 * Uses SQLite's lock on `lock.sqlite` in the folder, a file that stays empty: `fcntl` on Linux and macOS, `LockFileEx`
 * on Windows. Taking it is one step (`BEGIN IMMEDIATE`) with one winner, and nothing stale ever has to be removed. No
 * other code in the holder's process may open `lock.sqlite`, not even to copy it: closing such a file makes `fcntl`
 * release the lock. Between machines it is as reliable as the file system's locks (docs/operations.md); a file system
 * without locks is rejected. Requires `node:sqlite` (Node 22.13). `lock.json` names the holder, for error messages
 * only.
 */
import { Effect, FileSystem, Option, Path, Schedule, Schema, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import type { DatabaseSync } from "node:sqlite"
import { isAlive } from "./Platform.ts"

/** The folder is in use by another live process, or cannot be locked. */
export class FolderLockError extends Schema.TaggedError<FolderLockError>()("FolderLockError", {
  message: Schema.String,
  /** True if a live process holds it; otherwise there is a problem with the folder. */
  isHeld: Schema.Boolean,
  /** Process that holds it, if known. */
  holder: Schema.NullOr(Schema.Int)
}) {}

const Holder = Schema.fromJsonString(Schema.Struct({ pid: Schema.Int, host: Schema.String }))
const decodeHolder = Schema.decodeUnknownEffect(Holder)
const encodeHolder = Schema.encodeSync(Holder)

/** SQLite's error codes for a lock held by another connection, and for one that the file system does not support. */
const busy = 5
/** The error code for a file without write permission. */
const readOnly = 8

class NotTaken extends Schema.TaggedError<NotTaken>()("NotTaken", {
  message: Schema.String,
  number: Schema.NullOr(Schema.Int)
}) {}

const notTaken = (cause: unknown): NotTaken => {
  // node:sqlite throws an Error with SQLite's code.
  const { errcode = null, message } = cause as Error & { readonly errcode?: number }
  const reason =
    errcode === readOnly
      ? "no write permission for lock.sqlite, which another user created: grant it, or remove the file once no process uses the folder"
      : message
  return new NotTaken({ message: reason, number: errcode })
}

/** A connection that holds the file's only write lock until it is closed; None if another one has it. */
const take = Effect.fnUntraced(function* (file: string): Effect.fn.Return<Option.Option<DatabaseSync>, NotTaken> {
  const sqlite = yield* Effect.tryPromise({
    try: () => import("node:sqlite"),
    catch: () =>
      new NotTaken({
        message: `locks need node:sqlite, which Node ${process.versions.node} lacks: use Node 22.13 or newer`,
        number: null
      })
  })
  const database = yield* Effect.try({ try: () => new sqlite.DatabaseSync(file), catch: notTaken })
  const isTaken = yield* Effect.try({
    try: () => {
      // A journal file would leave a stale one after a kill, to be removed under another lock. On a read-only file,
      // `BEGIN IMMEDIATE` alone takes a lock that any number of processes can hold; the write, which is never
      // committed, is rejected.
      database.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; PRAGMA user_version = 1")
      return true
    },
    catch: notTaken
  }).pipe(
    Effect.catchIf(
      (error) => error.number === busy,
      () => Effect.succeed(false)
    ),
    Effect.tapError(() => Effect.sync(() => database.close()))
  )
  if (isTaken) return Option.some(database)
  database.close()
  return Option.none()
})

const letGo = (taken: Option.Option<DatabaseSync>) =>
  Effect.sync(() => {
    if (Option.isSome(taken)) taken.value.close()
  })

/** Tests if the file system supports locks, with a new file. */
const keepsLocks = Effect.fnUntraced(function* (root: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(root, `lock-${randomUUID()}.sqlite`)
  return yield* Effect.acquireUseRelease(
    take(file),
    (taken) => Effect.succeed(Option.isSome(taken)),
    (taken) => Effect.andThen(letGo(taken), Effect.ignore(fs.remove(file, { force: true }), { log: "Warn" }))
  )
})

/** The holder according to its sign. A killed process leaves its sign, which the next holder is about to replace. */
const holderOf = (sign: string, host: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFileString(sign)).pipe(
    Effect.flatMap(decodeHolder),
    Effect.flatMap((holder) =>
      Effect.map(holder.host === host ? isAlive(holder.pid) : Effect.succeed(true), (isLiving) =>
        isLiving ? Option.some(holder) : Option.none()
      )
    ),
    Effect.flatMap(Effect.fromOption),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 50 }),
    Effect.option
  )

/** Holds `folder` until the scope closes; fails if another process holds it. */
export const hold = Effect.fn("FolderLock.hold")(function* (
  folder: string
): Effect.fn.Return<void, FolderLockError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const root = path.resolve(folder)
  const sign = path.join(root, "lock.json")
  const host = hostname()
  const cannot = ({ message }: { readonly message: string }) =>
    new FolderLockError({ message: `cannot lock the folder ${folder}: ${message}`, isHeld: false, holder: null })

  const taken = yield* Effect.acquireRelease(Effect.mapError(take(path.join(root, "lock.sqlite")), cannot), letGo)
  if (Option.isSome(taken)) {
    // The lock is valid without a sign, for example on a full disk.
    return yield* Effect.acquireRelease(
      Effect.ignore(fs.writeFileString(sign, encodeHolder({ pid: process.pid, host })), { log: "Warn" }),
      () => Effect.ignore(fs.remove(sign, { force: true }), { log: "Warn" })
    )
  }
  const holder = yield* holderOf(sign, host)
  if (Option.isNone(holder) && !(yield* Effect.mapError(keepsLocks(root), cannot))) {
    return yield* cannot({ message: "its file system does not support locks; choose a folder on a local disk" })
  }
  const who = Option.match(holder, {
    onNone: () => "",
    onSome: (other) => ` (id ${other.pid}${other.host === host ? "" : ` on ${other.host}`})`
  })
  return yield* new FolderLockError({
    message: `the folder ${folder} is in use by a running process${who}`,
    isHeld: true,
    holder: Option.match(holder, { onNone: () => null, onSome: ({ pid }) => pid })
  })
})
