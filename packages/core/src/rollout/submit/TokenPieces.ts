/**
 * The text of token ids, for people who look at tokens: each id's once per run, before the first group that has it.
 *
 * Nothing here can fail or hold up what is sent by more than `timeout`: what cannot be told now is told with the next
 * group that has it, and how often that happened is counted. Decoding gives way to others every few ids.
 *
 * A piece is what its token adds to a text, so that pieces can be written one after the other: tokenizers that take the
 * blank off the beginning of a text show it when the token comes second.
 */
import { Effect, Result } from "effect"
import * as Reason from "../../base/Reason.ts"
import type { ScoredGroup } from "../../ScoredGroup.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"
import type { Telemetry } from "../../service/TelemetryClient.ts"
import type { Registration } from "../../service/TrajectoryApi.ts"

export interface TokenPieces {
  /** Tells what the run has not been told of these groups' tokens. */
  readonly tell: (groups: ReadonlyArray<ScoredGroup>) => Effect.Effect<void>
  /** Requests that failed. */
  readonly failures: () => number
}

const timeout = "5 seconds"
const idsPerRequest = 4096
/** Ids decoded in one turn of the event loop: two decodings each, some milliseconds. */
const idsPerTurn = 64
/** No vocabulary is larger; an id beyond it is nobody's token. */
const largestId = 2 ** 24
/** What the service takes. */
const longestPiece = 1024

/** What the token adds to a text. */
export const pieceOf = ({ decode }: Pick<TokenizerShape, "decode">, id: number): string => {
  const alone = decode([id])
  const twice = decode([id, id])
  const piece = twice.startsWith(alone) && twice.length > alone.length ? twice.slice(alone.length) : alone
  return piece.slice(0, longestPiece)
}

/** Tells the service of `telemetry`; `registration` is another one when the run may be another one. */
export const make = (options: {
  readonly telemetry: Pick<Telemetry, "recordPieces">
  readonly tokenizer: Pick<TokenizerShape, "decode">
  readonly registration: () => Registration
}): TokenPieces => {
  const { registration, telemetry, tokenizer } = options
  let sent = new Set<number>()
  let toldTo: Registration | undefined
  let failures = 0

  const note = (cause: unknown) => {
    failures++
    return (failures === 1 ? Effect.logWarning : Effect.logDebug)(
      "text of tokens not told to the service; trying again with the next groups",
      { reason: Reason.of(cause) }
    )
  }

  const unsent = (groups: ReadonlyArray<ScoredGroup>): ReadonlyArray<number> => {
    const ids = new Set<number>()
    for (const { tokens } of groups) {
      for (const sequence of tokens) {
        for (let t = 0; t < sequence.length; t++) {
          const id = sequence[t]!
          if (!sent.has(id) && id <= largestId) ids.add(id)
        }
      }
    }
    return [...ids]
  }

  const decoded = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
    const pieces = new Map<number, string>()
    for (const [index, id] of ids.entries()) {
      if (index > 0 && index % idsPerTurn === 0) yield* Effect.yieldNow
      // An id that the tokenizer does not know has no text.
      const piece = Result.try(() => pieceOf(tokenizer, id))
      if (Result.isSuccess(piece)) pieces.set(id, piece.success)
    }
    return pieces
  })

  return {
    failures: () => failures,
    tell: Effect.fnUntraced(
      function* (groups: ReadonlyArray<ScoredGroup>) {
        const current = registration()
        if (toldTo !== current) {
          sent = new Set()
          toldTo = current
        }
        const ids = unsent(groups)
        for (let from = 0; from < ids.length; from += idsPerRequest) {
          const portion = ids.slice(from, from + idsPerRequest)
          yield* telemetry.recordPieces(yield* decoded(portion))
          for (const id of portion) sent.add(id)
        }
      },
      Effect.timeout(timeout),
      Effect.catch(note),
      Effect.catchDefect(note)
    )
  }
}
