/**
 * One process per folder: a lock that the operating system lets go of when its holder dies, however it dies.
 *
 * It is SQLite's lock on `lock.sqlite` in the folder, a file that stays empty: `fcntl` on Linux and macOS, `LockFileEx`
 * on Windows. The one step that takes it (`BEGIN IMMEDIATE`) has one winner among any number of processes, and nothing
 * stale is ever to be removed. Nothing else in the holder's process may open `lock.sqlite`, not even to copy it: where
 * such a file is closed, `fcntl` lets go. Between machines it holds as far as the file system's locks do
 * (docs/operations.md); a file system that keeps none is refused. It needs `node:sqlite` (Node 22.13): elsewhere
 * locking fails, and says so. Who holds it stands in `lock.json`, for refusals to say; nothing is decided by that.
 */
import { Effect, FileSystem, Option, Path, Schedule, Schema, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import type { DatabaseSync } from "node:sqlite"
import { isAlive } from "./Platform.ts"

/** The folder is in use by another living process, or cannot be locked. */
export class FolderLockError extends Schema.TaggedError<FolderLockError>()("FolderLockError", {
  message: Schema.String,
  /** Whether somebody living holds it; else something is wrong with the folder. */
  isHeld: Schema.Boolean,
  /** Process that holds it, where known. */
  holder: Schema.NullOr(Schema.Int)
}) {}

const Holder = Schema.fromJsonString(Schema.Struct({ pid: Schema.Int, host: Schema.String }))
const decodeHolder = Schema.decodeUnknownEffect(Holder)
const encodeHolder = Schema.encodeSync(Holder)

/** SQLite's number for a lock that somebody else has, and for one that the file system does not keep. */
const busy = 5
/** And for a file that this user may not write. */
const readOnly = 8

class NotTaken extends Schema.TaggedError<NotTaken>()("NotTaken", {
  message: Schema.String,
  number: Schema.NullOr(Schema.Int)
}) {}

const notTaken = (cause: unknown): NotTaken => {
  // What node:sqlite throws is an Error, with SQLite's number.
  const { errcode = null, message } = cause as Error & { readonly errcode?: number }
  const reason =
    errcode === readOnly
      ? "this user may not write lock.sqlite there, which another one has made: let it, or remove the file once nobody is at work there"
      : message
  return new NotTaken({ message: reason, number: errcode })
}

/** A connection that has the file's one write lock until it is closed; none where another has it. */
const take = Effect.fnUntraced(function* (file: string): Effect.fn.Return<Option.Option<DatabaseSync>, NotTaken> {
  const sqlite = yield* Effect.tryPromise({
    try: () => import("node:sqlite"),
    catch: () =>
      new NotTaken({
        message: `locks are made with node:sqlite, which Node ${process.versions.node} lacks: use Node 22.13 or newer`,
        number: null
      })
  })
  const database = yield* Effect.try({ try: () => new sqlite.DatabaseSync(file), catch: notTaken })
  const isTaken = yield* Effect.try({
    try: () => {
      // With a journal in a file, there would be a stale one to remove after a kill, under a lock again.
      // Of a file that may only be read, `BEGIN IMMEDIATE` alone takes a lock that any number have: a write, never
      // kept, is refused.
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

/** Whether a file of which nobody knows can be locked. */
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

/** Who holds it, as its sign says. One that was killed has left its own, which the next one is about to replace. */
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

/** Holds `folder` until the scope closes; fails where another process holds it. */
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
    // The lock holds without a sign too, on a full disk say.
    return yield* Effect.acquireRelease(
      Effect.ignore(fs.writeFileString(sign, encodeHolder({ pid: process.pid, host })), { log: "Warn" }),
      () => Effect.ignore(fs.remove(sign, { force: true }), { log: "Warn" })
    )
  }
  const holder = yield* holderOf(sign, host)
  if (Option.isNone(holder) && !(yield* Effect.mapError(keepsLocks(root), cannot))) {
    return yield* cannot({ message: "its file system keeps no locks; choose a folder on a disk of this machine" })
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
