/**
 * Persists open sessions next to the recording: `sessions.open/<id>.jsonl` has a line with the changes of every answer
 * and reward, so that a killed process loses no delivered answer. A file is removed once its session is recorded.
 *
 * A truncated last line is ignored. Previous content is known only by a checksum; a sequence that no longer extends it
 * (the chat continued from another answer) is written again.
 */
import type * as Gateway from "@atropos/core/gateway/Gateway"
import type { Trajectory } from "@atropos/core"
import { Effect, FileSystem, Option, Path, Result } from "effect"

type Rewards = ReadonlyArray<Gateway.ReportedReward>

/** The changed part of a sequence. Arrays are base64 of their bytes. */
interface Grown {
  readonly at: number
  readonly keptTokens: number
  readonly keptMessages: number
  readonly tokens: string
  readonly mask: string
  readonly logprobs?: string
  readonly messages: Trajectory.Trajectory["messages"]
  readonly rest: Pick<Trajectory.Trajectory, "completion" | "finishReason" | "policyVersion" | "sampling" | "turns">
}

interface Line {
  readonly grown: ReadonlyArray<Grown>
  /** Its conversations: the number of sequences of each, and its rewards. */
  readonly conversations: ReadonlyArray<{ readonly count: number; readonly rewards: Rewards }>
  /** The tokenizer of the ids, if known. */
  readonly tokenizer?: Gateway.Session["tokenizer"]
}

/** A session in its state when its process ended. */
export type Unfinished = Pick<Gateway.Session, "id" | "conversations" | "tokenizer">

export interface OpenSessions {
  /** True if a state of the session was written: until then, no answer was delivered. */
  readonly has: (id: string) => boolean
  readonly write: (session: Unfinished) => Effect.Effect<void, { readonly message: string }>
  readonly read: (id: string) => Effect.Effect<Unfinished, { readonly message: string }>
  readonly remove: (id: string) => Effect.Effect<void, { readonly message: string }>
  /** Sessions left by an earlier process. */
  readonly left: Effect.Effect<ReadonlyArray<Unfinished>, { readonly message: string }>
}

interface Known {
  readonly tokens: number
  readonly checksum: number
  readonly messages: Trajectory.Trajectory["messages"]
}

/** `sessions.open` next to `sessions.jsonl`. */
export const folderOf = (recording: string): string => {
  const at = recording.lastIndexOf(".")
  return `${at > recording.lastIndexOf("/") + 1 ? recording.slice(0, at) : recording}.open`
}

const bytesOf = (array: Int32Array | Uint8Array | Float32Array): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64")

const bufferOf = (text: string): ArrayBuffer => {
  const bytes = Buffer.from(text, "base64")
  return Uint8Array.from(bytes).buffer
}

/** Checksum of the first `count` positions (FNV-1a over tokens, mask and the bits of logprobs). */
const checksumOf = ({ logprobs, mask, tokens }: Trajectory.Trajectory, count: number): number => {
  const bits = logprobs === undefined ? undefined : new Int32Array(logprobs.buffer, logprobs.byteOffset, count)
  let sum = 0x811c9dc5
  for (let at = 0; at < count; at++) {
    sum = Math.imul(sum ^ tokens[at]!, 0x01000193)
    sum = Math.imul(sum ^ mask[at]! ^ (bits === undefined ? 0 : bits[at]!), 0x01000193)
  }
  return sum
}

const knownOf = (trajectory: Trajectory.Trajectory): Known => ({
  tokens: trajectory.tokens.length,
  checksum: checksumOf(trajectory, trajectory.tokens.length),
  messages: trajectory.messages
})

/** The changes of a sequence; undefined if none. */
const grownOf = (trajectory: Trajectory.Trajectory, known: Known | undefined, at: number): Grown | undefined => {
  const { completion, finishReason, logprobs, mask, messages, policyVersion, sampling, tokens, turns } = trajectory
  const isBeginning =
    known !== undefined && known.tokens <= tokens.length && checksumOf(trajectory, known.tokens) === known.checksum
  const keptTokens = isBeginning ? known.tokens : 0
  const differing = known?.messages.findIndex((message, index) => message !== messages[index]) ?? 0
  const keptMessages = differing === -1 ? (known?.messages.length ?? 0) : differing
  if (keptTokens === tokens.length && keptMessages === messages.length) return undefined
  return {
    at,
    keptTokens,
    keptMessages,
    tokens: bytesOf(tokens.subarray(keptTokens)),
    mask: bytesOf(mask.subarray(keptTokens)),
    ...(logprobs !== undefined && { logprobs: bytesOf(logprobs.subarray(keptTokens)) }),
    messages: messages.slice(keptMessages),
    rest: {
      completion,
      finishReason,
      ...(policyVersion !== undefined && { policyVersion }),
      ...(sampling !== undefined && { sampling }),
      ...(turns !== undefined && { turns })
    }
  }
}

const joined = <A extends Int32Array | Uint8Array | Float32Array>(kept: A, news: A, made: A): A => {
  made.set(kept)
  made.set(news, kept.length)
  return made
}

const orElse = <A>(array: A | undefined, none: A): A => array ?? none

const after = (before: Trajectory.Trajectory | undefined, grown: Grown): Trajectory.Trajectory => {
  const { keptTokens, logprobs, rest } = grown
  const tokens = new Int32Array(bufferOf(grown.tokens))
  const mask = new Uint8Array(bufferOf(grown.mask))
  const length = keptTokens + tokens.length
  return {
    ...rest,
    messages: [...(before?.messages.slice(0, grown.keptMessages) ?? []), ...grown.messages],
    tokens: joined(orElse(before?.tokens.subarray(0, keptTokens), new Int32Array()), tokens, new Int32Array(length)),
    mask: joined(orElse(before?.mask.subarray(0, keptTokens), new Uint8Array()), mask, new Uint8Array(length)),
    ...(logprobs !== undefined && {
      logprobs: joined(
        orElse(before?.logprobs?.subarray(0, keptTokens), new Float32Array()),
        new Float32Array(bufferOf(logprobs)),
        new Float32Array(length)
      )
    })
  }
}

/** Rebuilds the session from the lines of a file. */
export const read = (id: string, text: string): Unfinished => {
  let sequences: ReadonlyArray<Trajectory.Trajectory> = []
  let conversations: Line["conversations"] = []
  let tokenizer: Line["tokenizer"]
  for (const one of text.split("\n")) {
    // Written by our own process; only the last line may be truncated.
    const line = Result.try(() => JSON.parse(one) as Line)
    if (Result.isFailure(line)) break
    conversations = line.success.conversations
    const next = sequences.slice(
      0,
      conversations.reduce((sum, { count }) => sum + count, 0)
    )
    for (const grown of line.success.grown) next[grown.at] = after(sequences[grown.at], grown)
    sequences = next
    tokenizer = line.success.tokenizer
  }
  const recorded = sequences.map((trajectory, sequence) => ({ sequence, trajectory }))
  let at = 0
  const parts = conversations.map(({ count, rewards }) => ({
    recording: { sequences: recorded.slice(at, (at += count)), leftOut: [] },
    rewards
  }))
  return { id, ...(tokenizer && { tokenizer }), conversations: Effect.succeed(parts) }
}

export const make = Effect.fn("OpenSessions.make")(function* (recording: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = folderOf(recording)
  const fileOf = (id: string) => path.join(folder, `${id}.jsonl`)
  const written = new Map<string, ReadonlyArray<Known>>()
  const sizes = new Map<string, number>()

  const write = Effect.fnUntraced(function* (session: Unfinished) {
    const conversations = yield* session.conversations
    const sequences = conversations.flatMap(({ recording }) => recording.sequences)
    const known = written.get(session.id)
    const grown = sequences.flatMap(({ trajectory }, at) => grownOf(trajectory, known?.[at], at) ?? [])
    const { tokenizer } = session
    const line: Line = {
      grown,
      conversations: conversations.map(({ recording, rewards }) => ({ count: recording.sequences.length, rewards })),
      ...(tokenizer && { tokenizer })
    }
    if (known === undefined) yield* fs.makeDirectory(folder, { recursive: true })
    const file = fileOf(session.id)
    const text = `${JSON.stringify(line)}\n`
    const before = known === undefined ? 0 : (sizes.get(session.id) ?? 0)
    // Removes a partial write (disk full), so that the next line starts on its own.
    yield* fs
      .writeFileString(file, text, { flag: "a" })
      .pipe(Effect.tapError(() => Effect.ignore(fs.truncate(file, before), { log: true })))
    sizes.set(session.id, before + Buffer.byteLength(text))
    written.set(
      session.id,
      sequences.map(({ trajectory }) => knownOf(trajectory))
    )
  })

  const remove = (id: string) =>
    Effect.suspend(() => {
      written.delete(id)
      sizes.delete(id)
      return fs.remove(fileOf(id), { force: true })
    })
  yield* Effect.addFinalizer(() =>
    fs.readDirectory(folder).pipe(
      Effect.flatMap(({ length }) => (length === 0 ? fs.remove(folder, { recursive: true }) : Effect.void)),
      Effect.ignore
    )
  )

  const readOne = (id: string) => Effect.map(fs.readFileString(fileOf(id)), (text) => read(id, text))

  const left = Effect.gen(function* () {
    const names = yield* Effect.option(fs.readDirectory(folder))
    if (Option.isNone(names)) return []
    return yield* Effect.forEach(
      names.value.filter((name) => name.endsWith(".jsonl")),
      (name) => readOne(path.basename(name, ".jsonl"))
    )
  })

  return { has: (id) => written.has(id), write, read: readOne, remove, left } satisfies OpenSessions
})

/** Describes the open sessions next to a recording; undefined if none. */
export const note = Effect.fnUntraced(function* (recording: string) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folderOf(recording)), () => [])
  const count = names.filter((name) => name.endsWith(".jsonl")).length
  return count === 0
    ? undefined
    : `${folderOf(recording)} has ${count} ${count === 1 ? "session that is" : "sessions that are"} still open, or ` +
        "were when their gateway was killed; they are recorded when they end, or when a gateway starts with the same --record"
})
