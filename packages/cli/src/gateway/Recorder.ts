/**
 * Records the sessions of a gateway to files as they end: scored ones to the given file, others to one next to it
 * (`sessions.unscored.jsonl`). Appends; a line truncated by a killed process remains a separate line, and a partial
 * write on a full disk is undone.
 *
 * Open sessions are persisted (`OpenSessions`) before an answer is returned; otherwise the answer is an error, and a
 * session without any other answer is not recorded. One that could not be recorded at its end stays there and is
 * recorded once: with the next session, at shutdown, or by the next process.
 */
import type * as Gateway from "@atropos/core/gateway/Gateway"
import * as Recorded from "@atropos/core/gateway/Recorded"
import * as Reason from "@atropos/core/base/Reason"
import * as SameFile from "@atropos/core/base/system/SameFile"
import * as JsonLines from "@atropos/core/data/JsonLines"
import { Console, Effect, FileSystem, Path, Scope, Semaphore, Stream } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as OutputLock from "../job/OutputLock.ts"
import * as OpenSessions from "./OpenSessions.ts"

export interface Recorder {
  readonly onChange: (session: Gateway.Session) => Effect.Effect<void, { readonly message: string }>
  readonly onEnd: (session: Gateway.Session) => Effect.Effect<void>
  readonly scored: string
  readonly unscored: string
}

interface Appender {
  readonly append: (lines: ReadonlyArray<string>) => Effect.Effect<void, { readonly message: string }>
}

const encoder = new TextEncoder()
const lineBreak = 0x0a

/** Appends lines; a file that was removed or replaced, for example by a rotation of logs, is begun anew. */
const appender = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const scope = yield* Effect.scope
  let file = yield* fs.open(path, { flag: "a+" })
  const { size } = yield* file.stat
  if (size > 0n) {
    yield* file.seek(size - 1n, "start")
    const last = yield* file.readAlloc(1)
    if (last._tag === "Some" && last.value[0] !== lineBreak) yield* file.writeAll(encoder.encode("\n"))
  }
  return {
    append: Effect.fnUntraced(function* (lines) {
      if (!(yield* Effect.provideService(SameFile.isAt(file, path), FileSystem.FileSystem, fs))) {
        file = yield* Scope.provide(fs.open(path, { flag: "a+" }), scope)
        yield* Effect.logWarning("a recording was removed or replaced; beginning a new file", { path })
      }
      const { size: before } = yield* file.stat
      yield* file
        .writeAll(encoder.encode(lines.map((line) => `${line}\n`).join("")))
        .pipe(Effect.tapError(() => Effect.ignore(file.truncate(Number(before)), { log: true })))
    })
  } satisfies Appender
})

/** `sessions.unscored.jsonl` next to `sessions.jsonl`. */
const unscoredOf = (path: string): string => {
  const at = path.lastIndexOf(".")
  return at > path.lastIndexOf("/") + 1 ? `${path.slice(0, at)}.unscored${path.slice(at)}` : `${path}.unscored`
}

interface Tally {
  scored: number
  unscored: number
  leftOut: number
}

/** The sessions whose lines are in a file. */
interface Known {
  readonly scored: Set<string>
  readonly unscored: Set<string>
}

const cannot = (file: string) => (cause: unknown) =>
  new UsageError({ message: `--record: cannot write to ${file}: ${Reason.of(cause)}` })

/**
 * Records until the scope closes, then reports what it wrote; `score` applies to sessions that report none, `served`
 * gives the tokenizer of sessions that know none, if the server names it.
 */
export const make = Effect.fn("Recorder.make")(function* (
  path: string,
  score: number | undefined,
  served: Effect.Effect<Gateway.Session["tokenizer"]> = Effect.undefined
) {
  const fs = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  const scope = yield* Effect.scope
  const opened = (file: string) => Effect.mapError(appender(file), cannot(file))
  yield* Effect.mapError(fs.makeDirectory(dirname(path), { recursive: true }), cannot(path))
  yield* OutputLock.hold(path)
  const open = yield* OpenSessions.make(path)
  const scored = yield* opened(path)
  const unscoredPath = unscoredOf(path)
  // Opened on demand: there may never be an unscored session.
  const unscored = yield* Effect.cached(
    opened(unscoredPath).pipe(Scope.provide(scope), Effect.provideService(FileSystem.FileSystem, fs))
  )
  const tally: Tally = { scored: 0, unscored: 0, leftOut: 0 }
  /** Ended but not recorded yet; their data is in the files of open sessions. */
  const waiting = new Set<string>()
  const oneByOne = yield* Semaphore.make(1)

  /** `known`: the files that have the session's lines already. */
  const record = Effect.fnUntraced(function* (session: OpenSessions.Unfinished, known: Known) {
    const recorded = yield* Recorded.of(session, score)
    for (const reason of recorded.leftOut) {
      tally.leftOut += 1
      yield* Effect.logWarning("conversation not recorded", { session: session.id, reason })
    }
    if (recorded.scored.length > 0 && !known.scored.has(session.id)) {
      yield* scored.append(recorded.scored)
      tally.scored += recorded.scored.length
      known.scored.add(session.id)
    }
    if (recorded.unscored.length > 0 && !known.unscored.has(session.id)) {
      yield* (yield* unscored).append(recorded.unscored.flat())
      tally.unscored += recorded.unscored.length
      known.unscored.add(session.id)
    }
  })

  const left = yield* Effect.mapError(open.left, cannot(OpenSessions.folderOf(path)))
  if (left.length > 0) {
    const known = { scored: yield* sessionsOf(path), unscored: yield* sessionsOf(unscoredPath) }
    for (const session of left) {
      yield* Effect.mapError(record(session, known), cannot(path))
      yield* Effect.mapError(open.remove(session.id), cannot(path))
    }
    yield* Console.log(`recorded sessions left open by an earlier process: ${left.length}`)
  }

  /** Already recorded, even if the rest of them or removing their open-session file failed. */
  const written: Known = { scored: new Set(), unscored: new Set() }
  const ended = Effect.fnUntraced(function* (session: OpenSessions.Unfinished) {
    yield* record(session, written)
    yield* open.remove(session.id)
    written.scored.delete(session.id)
    written.unscored.delete(session.id)
  })

  /** Oldest first; stops at the first failure. */
  const retry = Effect.gen(function* () {
    for (const id of waiting) {
      yield* Effect.flatMap(open.read(id), ended)
      waiting.delete(id)
    }
  }).pipe(Effect.ignore)

  const withTokenizer = (session: Gateway.Session): Effect.Effect<OpenSessions.Unfinished> =>
    session.tokenizer !== undefined
      ? Effect.succeed(session)
      : Effect.map(served, (tokenizer) => ({ ...session, ...(tokenizer && { tokenizer }) }))

  const alone = Semaphore.withPermits(oneByOne, 1)
  yield* Effect.addFinalizer(() =>
    alone(retry).pipe(
      Effect.andThen(
        Effect.suspend(() => Console.log(summary(tally, path, unscoredPath, waiting.size, OpenSessions.folderOf(path))))
      )
    )
  )
  const recorder: Recorder = {
    scored: path,
    unscored: unscoredPath,
    onChange: (session) =>
      alone(Effect.flatMap(withTokenizer(session), open.write)).pipe(
        Effect.tapError((error) =>
          Effect.logError("answer could not be recorded", { session: session.id, reason: Reason.of(error) })
        ),
        Effect.mapError((error) => ({
          message: `the answer could not be recorded (--record ${path}): ${Reason.of(error)}`
        }))
      ),
    onEnd: (session) =>
      alone(
        Effect.suspend(() =>
          open.has(session.id)
            ? Effect.flatMap(withTokenizer(session), ended).pipe(
                Effect.andThen(retry),
                Effect.catch((error) => {
                  waiting.add(session.id)
                  return Effect.logError("session could not be recorded yet", {
                    session: session.id,
                    reason: Reason.of(error)
                  })
                })
              )
            : Effect.andThen(Effect.ignore(open.remove(session.id)), retry)
        )
      )
  }
  return recorder
})

/** The ids of the sessions in a file. */
const sessionsOf = Effect.fnUntraced(function* (file: string) {
  const known = new Set<string>()
  const fs = yield* FileSystem.FileSystem
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) return known
  yield* Stream.runForEach(JsonLines.read(file), (line) =>
    Effect.sync(() => {
      const id = line._tag === "Text" ? /"session":"([\da-f]{16})"/.exec(line.text)?.[1] : undefined
      if (id !== undefined) known.add(id)
    })
  ).pipe(Effect.mapError(cannot(file)))
  return known
})

const summary = (
  { leftOut, scored, unscored }: Tally,
  path: string,
  unscoredPath: string,
  waiting: number,
  openFolder: string
): string =>
  [
    `recorded ${scored} ${scored === 1 ? "session" : "sessions"} in ${path}`,
    ...(unscored > 0 ? [`${unscored} without a reward in ${unscoredPath}`] : []),
    ...(leftOut > 0 ? [`${leftOut} could not be recorded (see the log)`] : []),
    ...(waiting > 0
      ? [`${waiting} not recorded yet: they are in ${openFolder}, and the next gateway with this --record records them`]
      : [])
  ].join(", ")
